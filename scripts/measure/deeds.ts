/** What one process does at another's word; arguments and answers are plain data. */
export type Deeds = object;

/** A question to another process. */
export interface Asked {
  readonly id: number;
  readonly name: string;
  readonly args: readonly unknown[];
}

/** Its answer, or what went wrong. */
export interface Answered {
  readonly id: number;
  readonly value?: unknown;
  readonly problem?: string;
}

/** Does what the parent process asks for, and ends with it. */
export function serveParent(deeds: Deeds): void {
  process.on('message', ({ id, name, args }: Asked) => void serve(deeds, id, name, args));
  process.on('disconnect', () => process.exit());
}

async function serve(deeds: Deeds, id: number, name: string, args: readonly unknown[]): Promise<void> {
  const deed: unknown = (deeds as Record<string, unknown>)[name];
  let answered: Answered;
  try {
    if (typeof deed !== 'function') throw new Error(`there is no deed ${name}`);
    answered = { id, value: await deed(...args) };
  } catch (error) {
    answered = { id, problem: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  process.send?.(answered);
}
