import type { LogLevel } from '../base/log.ts';

/** What a command needs of the process. */
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

/** The same, with the options that every command has. */
export interface CommandContext extends ProcessContext {
  readonly configFile: string | undefined;
  readonly logLevel: LogLevel | undefined;
}

/** Exit statuses (docs/reference/commands.md). */
export const exitStatus = { done: 0, failed: 1, badUsage: 2, rejected: 3 } as const;

/** Resolves once the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
