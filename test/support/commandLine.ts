import { runProgram } from '../../src/cli/program.ts';

/** Runs the program with these arguments in this process, without a configuration. */
export async function runCommandLine(...argv: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const status = await runProgram(argv, {
    env: {},
    cwd: '.',
    print: (line) => out.push(line),
    complain: (line) => err.push(line),
    signal: new AbortController().signal,
  });
  return { status, out: out.join('\n'), err: err.join('\n') };
}
