import { spawn } from 'node:child_process';
import { onTestFinished, TestRunner } from 'vitest';
import { patienceMs } from './waitFor.ts';

/** How a process ended, and how long that took since it was asked to, in ms. */
interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
  durationMs: number;
}

/** A child process, what it has said so far, and a way to end it. */
export interface RunningProcess {
  readonly pid: number;
  /** Whether it has not ended yet. */
  readonly isRunning: boolean;
  readonly stdout: string;
  readonly stderr: string;
  /** Both, in the order in which they came. */
  readonly output: string;
  /** Waits until its output, old or new, matches; throws with the output when it ends first or time is up. */
  waitForOutput(pattern: RegExp, timeoutMs?: number): Promise<RegExpExecArray>;
  /** Resolves when it has ended by itself. */
  ended(): Promise<Ending>;
  /** Only sends the signal. */
  signal(name: NodeJS.Signals): void;
  /** Sends the signal and waits; a process that outlives the time limit is killed, which the ending shows. */
  stop(name?: NodeJS.Signals, timeoutMs?: number): Promise<Ending>;
}

const lastSteps = new Set<() => void>();

function endRun(): void {
  for (const step of lastSteps) step();
}
process.on('exit', endRun);
// The way in which vitest ends its workers.
process.once('SIGTERM', () => {
  endRun();
  process.kill(process.pid, 'SIGTERM');
});

/** Runs the callback when the test run ends, whichever way; the returned function forgets it. */
export function atRunEnd(callback: () => void): () => void {
  lastSteps.add(callback);
  return () => void lastSteps.delete(callback);
}

/** Runs the callback when the running test ends; outside a test (in a hook) the caller tidies up itself. */
export function atTestEnd(callback: () => unknown): void {
  if (TestRunner.getCurrentTest() !== undefined) onTestFinished(async () => void (await callback()));
}

/** Starts a program; it is killed at the end of the test that started it unless it outlives that, or of the test run. */
export function startProcess(
  command: string,
  args: readonly string[],
  options: { env?: NodeJS.ProcessEnv; cwd?: string; outlivesTest?: boolean; input?: string | undefined } = {},
): RunningProcess {
  const { outlivesTest = false, input = '', ...spawnOptions } = options;
  const child = spawn(command, args, { ...spawnOptions, stdio: ['pipe', 'pipe', 'pipe'] });
  // It may end without reading.
  child.stdin.on('error', () => {}).end(input);
  const forget = atRunEnd(() => void child.kill('SIGKILL'));
  let stdout = '';
  let stderr = '';
  let output = '';
  let ending: Omit<Ending, 'durationMs'> | undefined;
  const onOutput = new Set<() => void>();
  const said = (text: string) => {
    output += text;
    for (const callback of [...onOutput]) callback();
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    said(text);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    said(text);
  });
  const hasEnded = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      stderr += error.message;
      output += error.message;
    });
    // Not 'exit': only 'close' says that all output has been read.
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

  function waitForOutput(pattern: RegExp, timeoutMs = patienceMs): Promise<RegExpExecArray> {
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
