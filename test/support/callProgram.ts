import { demoCredentials, Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts';
import { atTestEnd } from './childProcess.ts';
import { startProgram, temporaryFolder } from './program.ts';

/** What a run of the program came to. */
export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built program to its end. */
export async function runProgram(
  args: readonly string[],
  options: Parameters<typeof startProgram>[1] = {},
): Promise<Run> {
  const program = startProgram(args, options);
  const { code } = await program.ended();
  return { code, stdout: program.stdout, stderr: program.stderr };
}

/** A simulated cloud, and a configuration with which `call` finds it. */
export interface CallableCloud {
  readonly simulator: Simulator;
  readonly config: { readonly cloud: object; readonly [section: string]: unknown };
  /** Runs `sonic2mqtt call` with these words. */
  call(words: readonly string[], cloud?: object): Promise<Run>;
}

/** Starts the cloud in which nothing happens by itself; made within a test, it ends with that. */
export async function startCallableCloud(options: SimulatorOptions = {}): Promise<CallableCloud> {
  const simulator = new Simulator({ quiet: true, ...options });
  await simulator.start();
  atTestEnd(() => simulator.stop());
  const config = {
    cloud: { base_url: simulator.url, ...demoCredentials, request_timeout: '2s' },
    // Nobody listens there: a call has no business with the broker.
    mqtt: { url: 'mqtt://127.0.0.1:1' },
    data_dir: temporaryFolder(),
  };
  return {
    simulator,
    config,
    call: (words, cloud = {}) =>
      runProgram(['call', ...words], { config: { ...config, cloud: { ...config.cloud, ...cloud } } }),
  };
}
