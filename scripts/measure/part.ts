import { fork } from 'node:child_process';

/** The built program. */
export const mainFile = new URL('../../dist/main.js', import.meta.url);

/** How Node.js runs the TypeScript of other processes. */
export const typescript: readonly string[] = ['--import', new URL('../typescript.mjs', import.meta.url).href];

/** Calls a function of another process; arguments and results are plain data. */
type Ask<Functions> = <Name extends keyof Functions & string>(
  name: Name,
  ...args: Functions[Name] extends (...args: infer Args) => unknown ? Args : never
) => Promise<Functions[Name] extends (...args: never[]) => infer Value ? Awaited<Value> : never>;

/** A process of its own that serves its parent with functions; see serveParent.mjs. */
export interface Part<Functions> {
  readonly ask: Ask<Functions>;
  readonly isRunning: boolean;
  readonly pid: number;
  readonly signal: (name: NodeJS.Signals) => void;
  /** Ends it and resolves to its exit status; null if it had to be killed. */
  readonly stop: () => Promise<number | null>;
}

export interface PartOptions {
  readonly args?: readonly string[];
  readonly nodeArgs: readonly string[];
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Receives its standard error, which is shown otherwise. */
  readonly onSaid?: (text: string) => void;
}

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly problem?: string;
}

/** This is longer than any answer takes, however busy the machine is. */
const longestAnswerMs = 300_000;
const longestStopMs = 10_000;

const running = new Set<() => void>();
process.on('exit', () => {
  for (const kill of running) kill();
});

/** The environment without the variables that would change the configuration of the bridge. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('SONIC2MQTT_'));
  return Object.fromEntries(inherited);
}

/** Starts a process, which ends with this one at the latest. */
export function startPart<Functions>(name: string, file: URL, options: PartOptions): Part<Functions> {
  const { args = [], nodeArgs, cwd, env, onSaid } = options;
  const child = fork(file, args, {
    execArgv: [...nodeArgs],
    stdio: ['ignore', 'ignore', onSaid ? 'pipe' : 'inherit', 'ipc'],
    env: { ...cleanEnvironment(), ...env },
    ...(cwd !== undefined && { cwd }),
  });
  const kill = () => child.kill('SIGKILL');
  running.add(kill);
  const waiting = new Map<number, (answer: Answer) => void>();
  let asked = 0;
  const fail = (problem: string) => {
    for (const [id, settle] of [...waiting]) settle({ id, problem });
  };
  const ended = new Promise<number | null>((resolve) => {
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code, signal) => {
      running.delete(kill);
      fail(`it ended with ${code ?? signal}`);
      resolve(code);
    });
  });
  child.on('message', (answer: Answer) => waiting.get(answer.id)?.(answer));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => onSaid?.(text));
  const isRunning = () => child.exitCode === null && child.signalCode === null;

  const ask = (wanted: string, ...given: unknown[]) =>
    new Promise<unknown>((resolve, reject) => {
      const id = asked++;
      const settle = ({ value, problem }: Answer) => {
        clearTimeout(timer);
        waiting.delete(id);
        if (problem === undefined) resolve(value);
        else reject(new Error(`${name}, asked for ${wanted}: ${problem}`));
      };
      const timeout = { id, problem: `no answer within ${longestAnswerMs} ms` };
      const timer = setTimeout(() => settle(timeout), longestAnswerMs);
      waiting.set(id, settle);
      if (!isRunning()) settle({ id, problem: 'it has ended' });
      else child.send({ id, name: wanted, args: given });
    });
  return {
    ask: ask as Ask<Functions>,
    get isRunning() {
      return isRunning();
    },
    pid: child.pid ?? 0,
    signal: (signal) => void child.kill(signal),
    async stop() {
      const timer = setTimeout(kill, longestStopMs);
      child.kill('SIGTERM');
      const code = await ended;
      clearTimeout(timer);
      return code;
    },
  };
}
