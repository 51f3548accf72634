import type { ParseArgsConfig } from 'node:util';

/** What a command is given. */
export interface CommandContext {
  /** Option values as typed, by their name without the dashes. */
  readonly options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
  /** What was typed behind the name, for a command that reads its own words. */
  readonly words: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** Data, on standard output. */
  readonly print: (line: string) => void;
  /** What people should know, on standard error. */
  readonly complain: (line: string) => void;
  /** Aborts on SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
}

/** A command of the program. */
export interface Command {
  readonly summary: string;
  /** Goes on until it is told to stop, so that being stopped is no failure. */
  readonly isLasting?: true;
  /** Its own options behind the name, as help shows them. */
  readonly usage: string;
  readonly options: NonNullable<ParseArgsConfig['options']>;
  /** What it takes depends on what it is given, so that it reads its words itself, all but the global options. */
  readonly readsOwnWords?: true;
  /** More lines of help. */
  readonly details?: (words: readonly string[]) => Promise<readonly string[]>;
  /** Loads what it needs and runs it; resolves to the exit status. */
  readonly run: (context: CommandContext) => Promise<number>;
}

/** Exit statuses (docs/reference/commands.md). */
export const exitStatus = { done: 0, failed: 1, badUsage: 2, rejected: 3 } as const;

/** A command line that cannot be understood; its message is a sentence for people. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  /** The arguments that say more. */
  readonly see: string;

  constructor(message: string, see = '--help') {
    super(message);
    this.see = see;
  }
}

/** Resolves once the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
