import { type ParseArgsConfig, parseArgs } from 'node:util';
import { errorMessage } from '../base/errorMessage.ts';
import { didYouMean, nearest } from '../base/nearest.ts';
import { type Command, UsageError } from './command.ts';
import { type CommandName, commands } from './commands.ts';

/** What every command takes. */
export const globalOptions = {
  config: { type: 'string' },
  'log-level': { type: 'string' },
  version: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const satisfies ParseArgsConfig['options'];

/** A command line, understood. */
export interface Arguments {
  readonly name: CommandName;
  readonly command: Command;
  /** Whether a command was named; without one, help is about the program. */
  readonly isNamed: boolean;
  readonly options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
  /** What the command reads itself. */
  readonly words: readonly string[];
}

/** Reads a command line without the program's name; throws UsageError, with a "did you mean". */
export function parseArguments(argv: readonly string[]): Arguments {
  const first = argv.findIndex((word, index) => !word.startsWith('-') && !isValue(argv[index - 1]));
  const word = first === -1 ? undefined : argv[first];
  const name = word ?? 'run';
  if (!isCommandName(name))
    throw new UsageError(`there is no command ${name}${didYouMean(nearest(name, Object.keys(commands)))}`);
  const command: Command = commands[name];
  const allOptions = { ...globalOptions, ...command.options };
  const given = argv.filter((_, index) => index !== first);
  const words = command.readsOwnWords ? given.filter((_, index) => !isGlobal(given, index)) : [];
  try {
    const { values } = parseArgs({
      args: command.readsOwnWords ? given.filter((_, index) => isGlobal(given, index)) : given,
      options: allOptions,
      strict: true,
      allowPositionals: false,
    });
    return { name, command, isNamed: word !== undefined, options: values as Arguments['options'], words };
  } catch (error) {
    const see = word === undefined ? '--help' : `${name} --help`;
    throw new UsageError(`${name}: ${wordsOf(error, Object.keys(allOptions))}`, see);
  }
}

/** Whether the word before leaves its value to this one: `--config file`. */
function isValue(before: string | undefined): boolean {
  if (before === undefined || !before.startsWith('--') || before.includes('=')) return false;
  const option = before.slice(2);
  return option !== 'version' && option !== 'help';
}

/** Whether the word is a global option, or the value of one. */
function isGlobal(argv: readonly string[], index: number): boolean {
  const isName = (word = '') =>
    word === '-h' || Object.hasOwn(globalOptions, /^--([^=]+)/.exec(word)?.[1] ?? '');
  return isName(argv[index]) || (isName(argv[index - 1]) && isValue(argv[index - 1]));
}

function isCommandName(word: string): word is CommandName {
  return Object.hasOwn(commands, word);
}

function wordsOf(error: unknown, known: readonly string[]): string {
  const message = errorMessage(error);
  const unknown = /^Unknown option '(-{1,2}([^']+))'/.exec(message);
  if (!unknown?.[1]) return message;
  const near = nearest(unknown[2] ?? '', known);
  return `there is no option ${unknown[1]}${didYouMean(near && `--${near}`)}`;
}

/** The help of the program. */
export function programHelp(): string {
  const rows = Object.entries<Command>(commands).map(
    ([name, { summary }]) => `  ${name.padEnd(11)} ${summary}`,
  );
  return [
    'sonic2mqtt: a bridge from a water monitoring cloud to MQTT and Home Assistant',
    '',
    'Usage: sonic2mqtt [COMMAND] [OPTIONS]',
    '',
    ...rows,
    '',
    'Options of every command:',
    '  --config FILE      configuration file (SONIC2MQTT_CONFIG, or config.yaml in the working directory)',
    '  --log-level LEVEL  trace, debug, info, warn or error',
    '  --version          the version',
    '  --help             this, or the help of a command',
    '',
    'Exit status: 0 done; 1 failed; 2 bad usage or configuration; 3 the cloud rejected the credentials.',
  ].join('\n');
}

/** The help of one command. */
export async function commandHelp(name: CommandName, words: readonly string[] = []): Promise<string> {
  const { summary, usage, details }: Command = commands[name];
  const lines = (await details?.(words)) ?? [];
  return [
    `Usage: sonic2mqtt ${name} ${usage}`.trimEnd(),
    '',
    `  ${summary}`,
    ...lines.map((line) => `  ${line}`.trimEnd()),
    '',
    'Takes --config, --log-level, --version and --help too: see sonic2mqtt --help',
  ].join('\n');
}
