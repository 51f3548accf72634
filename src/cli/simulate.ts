import { type Command, InvalidArgumentError } from 'commander';
import { listenMessage } from '../base/systemErrors.ts';
import { type Fault, faultGrammar, faultUsage, parseFault } from '../simulator/faults.ts';
import { demoCredentials, Simulator, type SimulatorOptions } from '../simulator/simulator.ts';
import { aborted, type CommandContext, exitStatus } from './context.ts';

type SimulateOptions = Pick<
  SimulatorOptions,
  'port' | 'seed' | 'properties' | 'signals' | 'sonics' | 'wifiSonics' | 'email' | 'password' | 'role'
> & { readonly fault?: readonly Fault[] };

export function addFaults(command: Command): void {
  const width = Math.max(...faultUsage.map(([usage]) => usage.length));
  command
    .option(
      '--fault <fault>',
      `simulate a fault: ${faultGrammar} (repeatable)`,
      (text: string, faults: Fault[] = []) => {
        const read = parseFault(text);
        if ('problem' in read) throw new InvalidArgumentError(`Reason: ${read.problem}`);
        return [...faults, read.fault];
      },
    )
    .addHelpText(
      'after',
      ['', 'Faults:', ...faultUsage.map(([usage, does]) => `  ${usage.padEnd(width)}  ${does}`)].join('\n'),
    );
}

export async function simulate(
  { print, signal }: CommandContext,
  { fault, ...options }: SimulateOptions,
  command: Command,
): Promise<number> {
  if (options.properties === 0 && options.signals) command.error('--signals needs at least one property');
  if (options.properties === 0 && options.wifiSonics)
    command.error('--wifi-sonics needs at least one property');
  if ((options.signals ?? options.properties) === 0 && options.sonics) {
    command.error('--sonics needs at least one hub (--signals)');
  }
  const simulator = new Simulator({ ...options, ...(fault && { faults: fault }) });
  await simulator.start().catch((error: unknown) => {
    const problem = listenMessage(error, '127.0.0.1', options.port ?? 0);
    throw new Error(`The simulated cloud cannot start: ${problem}. Choose another port with --port.`);
  });
  const { email = demoCredentials.email, password = demoCredentials.password } = options;
  const { properties, signals, sonics, wifiSonics } = simulator.world;
  const wifi = wifiSonics.size > 0 ? `, Wi-Fi valves: ${wifiSonics.size}` : '';
  print(`The simulated cloud listens on ${simulator.url}`);
  print(`E-mail: ${email}, password: ${password}`);
  print(
    `Properties: ${properties.size}, hubs: ${signals.size}, valves: ${sonics.size}${wifi}. Press Ctrl+C to stop.`,
  );
  await aborted(signal);
  await simulator.stop();
  return exitStatus.done;
}
