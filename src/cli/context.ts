import type { LogLevel } from '../base/log.ts';

export interface ProcessContext {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** Writes data to standard output. */
  readonly print: (line: string) => void;
  /** Writes messages for people to standard error. */
  readonly complain: (line: string) => void;
  /** Aborts on SIGINT, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
}

export interface CommandContext extends ProcessContext {
  readonly configFile: string | undefined;
  readonly logLevel: LogLevel | undefined;
}

/** By default, the pages are only for a browser on this computer. The container image sets another address. */
export const usualPageAddress = '127.0.0.1:8099';

export const exitStatus = { done: 0, failed: 1, badUsage: 2, rejected: 3 } as const;

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
