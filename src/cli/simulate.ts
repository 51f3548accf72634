import { emailPattern } from '../base/email.ts';
import { type Fault, faultGrammar, faultUsage, parseFault } from '../simulator/faults.ts';
import { demoCredentials, Simulator, type SimulatorOptions } from '../simulator/simulator.ts';
import { aborted, type CommandContext, exitStatus, UsageError } from './command.ts';

const limits = {
  port: 65_535,
  seed: 2 ** 32 - 1,
  properties: 100_000,
  signals: 100_000,
  sonics: 100_000,
  wifiSonics: 100_000,
};
/** Where an option is not called as the simulator calls it. */
const optionNames: { readonly [Name in keyof typeof limits]?: string } = { wifiSonics: 'wifi-sonics' };

/** `sonic2mqtt simulate`: the simulated cloud alone, on this machine only, until the signal aborts. */
export async function simulate({ options, print, signal }: CommandContext): Promise<number> {
  const simulatorOptions = readOptions(options);
  const simulator = new Simulator(simulatorOptions);
  await simulator.start().catch((error: NodeJS.ErrnoException) => {
    throw new Error(complaint(error, simulatorOptions.port));
  });
  const { email = demoCredentials.email, password = demoCredentials.password } = simulatorOptions;
  const { properties, signals, sonics, wifiSonics } = simulator.world;
  const wifi = wifiSonics.size > 0 ? `, Wi-Fi sonics: ${wifiSonics.size}` : '';
  print(`The simulated cloud listens on ${simulator.url}`);
  print(`Sign in as ${email} with the password ${password}`);
  print(
    `Properties: ${properties.size}, signals: ${signals.size}, sonics: ${sonics.size}${wifi}. Ctrl+C ends it.`,
  );
  await aborted(signal);
  await simulator.stop();
  return exitStatus.done;
}

function readOptions(options: CommandContext['options']): SimulatorOptions {
  const problems: string[] = [];
  const numbers: { -readonly [Name in keyof typeof limits]?: number } = {};
  for (const name of Object.keys(limits) as (keyof typeof limits)[]) {
    const option = optionNames[name] ?? name;
    const given = options[option];
    if (given === undefined) continue;
    if (/^\d{1,15}$/.test(String(given)) && Number(given) <= limits[name]) numbers[name] = Number(given);
    else problems.push(`--${option} must be a whole number from 0 to ${limits[name]}; got ${given}`);
  }
  if (numbers.properties === 0 && numbers.signals) problems.push('--signals needs at least one property');
  if (numbers.properties === 0 && numbers.wifiSonics) {
    problems.push('--wifi-sonics needs at least one property');
  }
  if ((numbers.signals ?? numbers.properties) === 0 && numbers.sonics) {
    problems.push('--sonics needs at least one signal');
  }
  const faults: Fault[] = [];
  for (const text of [options['fault'] ?? []].flat()) {
    const read = parseFault(String(text));
    if ('fault' in read) faults.push(read.fault);
    else problems.push(`--fault ${text}: ${read.problem}`);
  }
  const { email, password } = options;
  if (email !== undefined && !emailPattern.test(String(email))) {
    problems.push(`--email must be an e-mail address; got ${email}`);
  }
  if (password === '') problems.push('--password must not be empty');
  if (problems.length > 0) throw new UsageError(problems.join('\n'), 'simulate --help');
  return {
    ...numbers,
    faults,
    ...(typeof email === 'string' && { email }),
    ...(typeof password === 'string' && { password }),
  };
}

function complaint({ code, message }: NodeJS.ErrnoException, port: number | undefined): string {
  if (code === 'EADDRINUSE') return `Port ${port} is in use by another program; choose another with --port`;
  if (code === 'EACCES') return `Port ${port} needs more rights; choose one above 1023 with --port`;
  return `The simulated cloud cannot listen: ${message}`;
}

/** More lines of help: what each option does, and the faults that can be asked for. */
export function simulateHelp(): string[] {
  return [
    '--port N   port on 127.0.0.1 (any free one unless given)',
    '--seed N   the same seed gives the same homes, and the same happenings',
    '--wifi-sonics N',
    '           sonics that need no signal (none unless given)',
    `--fault    something that goes wrong, as often as you like: ${faultGrammar}`,
    ...faultUsage.map(([usage, does]) => `           ${usage.padEnd(22)} ${does}`),
  ];
}
