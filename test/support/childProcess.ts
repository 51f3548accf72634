import { spawn } from 'node:child_process';
import { onTestFinished, TestRunner } from 'vitest';
import { defaultTimeoutMs } from './waitFor.ts';

/** How a process ended, and how many ms it took after the call that waited for it. */
interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
  durationMs: number;
}

/** A child process with its output so far. */
export interface RunningProcess {
  readonly pid: number;
  readonly isRunning: boolean;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output and standard error together, in order of arrival. */
  readonly output: string;
  /**
   * Waits until its output, old or new, matches. Throws with the output if the process ends first or time is
   * up.
   */
  waitForOutput(pattern: RegExp, timeoutMs?: number): Promise<RegExpExecArray>;
  /** Waits until the process ends by itself. */
  ended(): Promise<Ending>;
  /** Sends the signal without waiting. */
  signal(name: NodeJS.Signals): void;
  /**
   * Sends the signal and waits for the end. After the time limit the process is killed, which the result
   * shows.
   */
  stop(name?: NodeJS.Signals, timeoutMs?: number): Promise<Ending>;
}

const exitCallbacks = new Set<() => void>();

function runExitCallbacks(): void {
  for (const callback of exitCallbacks) callback();
}
process.on('exit', runExitCallbacks);
// Vitest ends its workers with this signal.
process.once('SIGTERM', () => {
  runExitCallbacks();
  process.kill(process.pid, 'SIGTERM');
});

/** Runs the callback when the test run ends in any way. The returned function cancels this. */
export function atRunEnd(callback: () => void): () => void {
  exitCallbacks.add(callback);
  return () => void exitCallbacks.delete(callback);
}

/**
 * Runs the callback when the current test ends. Outside a test, for example in a hook, the caller must clean
 * up itself.
 */
export function atTestEnd(callback: () => unknown): void {
  if (TestRunner.getCurrentTest() !== undefined) onTestFinished(async () => void (await callback()));
}

/**
 * Starts a program. It is killed at the end of the test that started it, or with `outlivesTest` at the end of
 * the test run.
 */
export function startProcess(
  command: string,
  args: readonly string[],
  options: { env?: NodeJS.ProcessEnv; cwd?: string; outlivesTest?: boolean; input?: string | undefined } = {},
): RunningProcess {
  const { outlivesTest = false, input = '', ...spawnOptions } = options;
  const child = spawn(command, args, { ...spawnOptions, stdio: ['pipe', 'pipe', 'pipe'] });
  // The program may end without reading its input.
  child.stdin.on('error', () => {}).end(input);
  const forget = atRunEnd(() => void child.kill('SIGKILL'));
  let stdout = '';
  let stderr = '';
  let output = '';
  let ending: Omit<Ending, 'durationMs'> | undefined;
  const onOutput = new Set<() => void>();
  const addOutput = (text: string) => {
    output += text;
    for (const callback of [...onOutput]) callback();
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    addOutput(text);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    addOutput(text);
  });
  const hasEnded = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      stderr += error.message;
      output += error.message;
    });
    // Not 'exit': all output has been read only at 'close'.
    child.once('close', (code, signal) => {
      forget();
      ending = { code, signal };
      resolve();
      for (const callback of [...onOutput]) callback();
    });
  });

  async function ended(): Promise<Ending> {
    const askedAt = performance.now();
    await hasEnded;
    return { code: null, signal: null, ...ending, durationMs: performance.now() - askedAt };
  }

  async function stop(name: NodeJS.Signals = 'SIGTERM', timeoutMs = 10_000): Promise<Ending> {
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    child.kill(name);
    const result = await ended();
    clearTimeout(timer);
    return result;
  }

  function waitForOutput(pattern: RegExp, timeoutMs = defaultTimeoutMs): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const fail = (why: string) => {
        finish();
        reject(new Error(`${command} ${args.join(' ')}: ${why} ${pattern}; its output:\n${output}`));
      };
      const timer = setTimeout(() => fail(`no output within ${timeoutMs} ms matches`), timeoutMs);
      const finish = () => {
        clearTimeout(timer);
        onOutput.delete(look);
      };
      const look = () => {
        const match = pattern.exec(output);
        if (match) {
          finish();
          resolve(match);
        } else if (ending) fail(`ended with ${ending.code ?? ending.signal} before its output matched`);
      };
      onOutput.add(look);
      look();
    });
  }

  if (!outlivesTest) atTestEnd(() => (ending ? undefined : stop('SIGKILL')));
  return {
    pid: child.pid ?? -1,
    get isRunning() {
      return ending === undefined;
    },
    get stdout() {
      return stdout;
    },
    get stderr() {
      return stderr;
    },
    get output() {
      return output;
    },
    waitForOutput,
    ended,
    signal: (name) => void child.kill(name),
    stop,
  };
}
