import { type Command, CommanderError, Help, Option } from 'commander';
import { didYouMean, nearest } from '../base/nearest.ts';
import type { CallFault, Field } from '../cloud/fields.ts';
import {
  type AnyOperation,
  type Call,
  type OperationName,
  operationNames,
  operationRow,
} from '../cloud/operations.ts';
import { checkCall } from '../cloud/request.ts';
import { operationList, sourceLabels } from './operationList.ts';
import { exampleBody, optionOf, optionsOf } from './operationOptions.ts';
import { textOption } from './options.ts';

/** Adds a command for each operation to `call`, with the operation's parameters as options. */
export function addOperations(
  call: Command,
  run: (command: Command, name: OperationName) => Promise<void>,
): void {
  call
    .usage('OPERATION [--NAME VALUE …] [--body JSON] [--token-file FILE] [--all-pages] | --list')
    .argument('[operation]')
    .addOption(new Option('--list').hideHelp())
    .addHelpText('after', callHelp)
    .on('option:list', () => {
      call.configureOutput().writeOut?.(operationList());
      throw new CommanderError(0, 'list', '');
    })
    .action((word: string | undefined) => {
      if (word === undefined) return call.error('the operation is missing');
      return call.error(`unknown operation '${word}'${didYouMean(nearest(word, operationNames))}`);
    })
    .showHelpAfterError('See sonic2mqtt call --list');
  for (const name of operationNames) {
    const command = call.command(name, { hidden: true });
    addParameters(command, operationRow(name)).action(() => run(command, name));
    command.showHelpAfterError(`See sonic2mqtt call ${name} --help`);
  }
}

const callHelp = `
Examples:
  sonic2mqtt call --list                  list the operations and their parameters
  sonic2mqtt call list_incidents --help   explain the parameters of one operation
  sonic2mqtt call list_incidents --open true
  sonic2mqtt call command_valve --sonic-id ID --body '{"action":"close"}'
  sonic2mqtt call sign_in --body - < credentials.json > session.json
  sonic2mqtt call validate_token --token-file session.json

A valve command, a pressure test or an action on an incident can move a valve.
control options do not apply to call, but cloud.routes does.
Prints the answer as JSON. Each call uses its own session and signs out afterwards, unless it prints the token.
With --token-file it uses the session of that token, as it is.`;

function addParameters(command: Command, row: AnyOperation): Command {
  const { options, body, isList } = optionsOf(row);
  const source = sourceLabels[row.source];
  const route = `${row.method} ${row.path} (${source}${row.number === null ? '' : `, number ${row.number}`})`;
  command.description(row.control?.includes('valves') ? `${route}\n\nMoves the valve.` : route);
  for (const each of options) command.addOption(textOption(`${optionOf(each.name)} <value>`, describe(each)));
  if (isList) {
    const allPages = new Option('--all-pages', 'read all pages and print them as one list');
    command.addOption(allPages.conflicts('page'));
  }
  if (body) {
    command.addOption(
      textOption(
        '--body <json>',
        `JSON object (${body.isExpected ? 'required; ' : ''}- reads standard input, @FILE reads a file)`,
      ),
    );
    // If a user gives a field of the body as an option, the error says where it belongs. It does not repeat the value,
    // which may be a secret.
    for (const field of body.fields.filter(({ name }) => !options.some((option) => option.name === name))) {
      const option = new Option(`${optionOf(field.name)} <value>`).hideHelp();
      command.addOption(option).on(`option:${option.name()}`, () => {
        command.error(
          `${field.name} is a field of the body, for example ${exampleBody({ ...body, fields: [field] })}`,
        );
      });
    }
    const fields = [
      ...body.fields.map((field) => [field.name, describe(field)]),
      ...(body.isOpen ? [['…', 'any other field']] : []),
    ];
    const width = Math.max(...fields.map(([name = '']) => name.length));
    const help = new Help();
    const lines = fields.map(([name = '', words = '']) => help.formatItem(name, width, words, help));
    command.addHelpText('after', ['', 'Fields of the body:', ...lines].join('\n'));
  }
  if (command.name() !== 'sign_in') {
    const words = 'use the session of an earlier call sign_in, as it is (- reads standard input)';
    command.addOption(textOption('--token-file <file>', words));
  }
  return command.addHelpText('after', `\nExample:\n  sonic2mqtt call ${exampleOf(command.name(), row)}`);
}

function describe({ takes, isRequired }: Field): string {
  return isRequired ? `${takes} (required)` : takes;
}

/** Arguments after `call` for an example that works. */
function exampleOf(name: string, row: AnyOperation): string {
  const { options, body, isList } = optionsOf(row);
  const required = options.filter(({ isRequired }) => isRequired);
  return [
    name,
    ...required.map((option) => `${optionOf(option.name)} ${option.name.toUpperCase()}`),
    ...(isList ? ['--all-pages'] : []),
    ...(body?.isExpected ? [exampleOfBody(name, row)] : []),
    ...(row.session && name !== 'sign_in' ? ['--token-file session.json'] : []),
  ].join(' ');
}

/** `--body` for an example. Other users can see the command line, so a password must come from a file. */
function exampleOfBody(name: string, row: AnyOperation): string {
  return name === 'sign_in' ? '--body - < credentials.json' : exampleBody(optionsOf(row).body);
}

const emptyBody = ". Use --body '{}' for an empty one";

/** The call from the options and the body. If anything is wrong with them, ends the program with all problems. */
export function readCall(command: Command, name: OperationName, body: unknown): Call {
  const row = operationRow(name);
  const typed = command.opts<Record<string, string | undefined>>();
  const valuesOf = (place: 'params' | 'query') =>
    optionsOf(row).options.flatMap((option) => {
      const text = typed[new Option(optionOf(option.name)).attributeName()];
      if (option.place !== place || text === undefined) return [];
      return [[option.name, place === 'params' ? text : readQueryValue(row, option.name, text)] as const];
    });
  const call = {
    params: Object.fromEntries(valuesOf('params')),
    ...(row.query && { query: Object.fromEntries(valuesOf('query')) }),
    ...(body !== undefined && { body }),
  };
  const { faults: found } = checkCall(row, call);
  const isBodyMissing = body === undefined && optionsOf(row).body?.isExpected === true;
  const isEmptyAllowed = row.control !== undefined && !found.some(({ place }) => place === 'body');
  const faults = [
    ...found.filter(({ place }) => place !== 'body' || !isBodyMissing).map(faultText),
    ...(isBodyMissing
      ? [`--body is missing, for example ${exampleOfBody(name, row)}${isEmptyAllowed ? emptyBody : ''}`]
      : []),
  ];
  if (faults.length > 0) command.error(faults.join('\n'));
  // All parts were checked against the row.
  return { operation: name, ...call } as Call;
}

/** The value for a field of the query. It becomes a number or a boolean if the row accepts no text. */
function readQueryValue(row: AnyOperation, name: string, text: string): unknown {
  const readings = [
    ...(text === 'true' || text === 'false' ? [text === 'true'] : []),
    ...(/^\d{1,15}$/.test(text) ? [Number(text)] : []),
  ];
  const isAccepted = (value: unknown) =>
    !checkCall(row, { query: { [name]: value } }).faults.some(({ place }) => place === 'query');
  return readings.find(isAccepted) ?? text;
}

function faultText({ place, name, message }: CallFault): string {
  if (place !== 'body') return `${optionOf(name ?? '')} ${message}`;
  return name === null ? `--body ${message}` : `--body: ${name} ${message}`;
}
