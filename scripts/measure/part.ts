import { fork } from 'node:child_process';
import type { Answered, Asked } from './deeds.ts';

/** What a part does when it is asked: the functions of a type, from outside. */
type Ask<Deeds> = <Name extends keyof Deeds & string>(
  name: Name,
  ...args: Deeds[Name] extends (...args: infer Args) => unknown ? Args : never
) => Promise<Deeds[Name] extends (...args: never[]) => infer Value ? Awaited<Value> : never>;

/** A process of its own that does what it is asked. */
export interface Part<Deeds> {
  readonly ask: Ask<Deeds>;
  readonly isRunning: boolean;
  readonly pid: () => number | null;
  readonly signal: (name: NodeJS.Signals) => void;
  /** Ends it, resolving to its exit status; null where it had to be killed. */
  readonly stop: () => Promise<number | null>;
}

export interface PartOptions {
  readonly args?: readonly string[];
  readonly nodeArgs: readonly string[];
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Takes in what it says on standard error; shown unless given. */
  readonly onSaid?: (text: string) => void;
}

/** Longer than any answer takes, however busy the machine. */
const longestAnswerMs = 300_000;
const longestStopMs = 10_000;

const running = new Set<() => void>();
process.on('exit', () => {
  for (const kill of running) kill();
});

/** Starts a process; it ends with this one at the latest. */
export function startPart<Deeds>(name: string, file: URL, options: PartOptions): Part<Deeds> {
  const { args = [], nodeArgs, cwd, env, onSaid } = options;
  const child = fork(file, args, {
    execArgv: [...nodeArgs],
    stdio: ['ignore', 'ignore', onSaid ? 'pipe' : 'inherit', 'ipc'],
    ...(cwd !== undefined && { cwd }),
    ...(env !== undefined && { env }),
  });
  const kill = () => child.kill('SIGKILL');
  running.add(kill);
  const waiting = new Map<number, (answered: Answered) => void>();
  let asked = 0;
  const fail = (problem: string) => {
    for (const [id, end] of [...waiting]) end({ id, problem });
  };
  const ended = new Promise<number | null>((resolve) => {
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code, signal) => {
      running.delete(kill);
      fail(`it ended with ${code ?? signal}`);
      resolve(code);
    });
  });
  child.on('message', (answered: Answered) => waiting.get(answered.id)?.(answered));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => onSaid?.(text));
  const isRunning = () => child.exitCode === null && child.signalCode === null;

  const ask = (deed: string, ...given: unknown[]) =>
    new Promise<unknown>((resolve, reject) => {
      const id = asked++;
      const end = ({ value, problem }: Answered) => {
        clearTimeout(timer);
        waiting.delete(id);
        if (problem === undefined) resolve(value);
        else reject(new Error(`${name}, asked for ${deed}: ${problem}`));
      };
      const timer = setTimeout(
        () => end({ id, problem: `no answer within ${longestAnswerMs} ms` }),
        longestAnswerMs,
      );
      waiting.set(id, end);
      if (!isRunning()) end({ id, problem: 'it has ended' });
      else child.send({ id, name: deed, args: given } satisfies Asked);
    });
  return {
    ask: ask as Ask<Deeds>,
    get isRunning() {
      return isRunning();
    },
    pid: () => child.pid ?? null,
    signal: (signal) => void child.kill(signal),
    async stop() {
      if (!isRunning()) return child.exitCode;
      const timer = setTimeout(kill, longestStopMs);
      child.kill('SIGTERM');
      const code = await ended;
      clearTimeout(timer);
      return code;
    },
  };
}
