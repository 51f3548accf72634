import { type Command, CommanderError, Help, Option } from 'commander';
import { didYouMean, nearest } from '../base/nearest.ts';
import type { Source } from '../cloud/catalogue.ts';
import { type CallFault, type Field, fieldsOf } from '../cloud/fields.ts';
import {
  type AnyOperation,
  type Call,
  type OperationName,
  operationNames,
  operationRow,
  paramNames,
} from '../cloud/operations.ts';
import { checkCall } from '../cloud/request.ts';
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
      call.configureOutput().writeOut?.([legend, ...operationNames.map(listed)].join('\n\n'));
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

const legend = `Each block shows the name of an operation, its number in the interface document, the source of
its route (document, published or assumed), method and path, and parameters.
* is required. … is any other field. sonic2mqtt call OPERATION --help explains the parameters.`;

const sourceLabels: Readonly<Record<Source, string>> = {
  document: 'document',
  public: 'published',
  assumed: 'assumed',
};

const listWidth = 100;
const nameWidth = Math.max(...operationNames.map(({ length }) => length));

function listed(name: OperationName): string {
  const row = operationRow(name);
  const marked = (field: Field, label: string) => `${label}${field.isRequired ? '*' : ''}`;
  const fields = bodyFields(row).map((field) => marked(field, field.name));
  const taken = [
    ...optionsOf(row).map((option) => marked(option, optionOf(option.name))),
    ...(isList(row) ? ['--all-pages'] : []),
    ...(row.body ? [`--body${isBodyRequired(row) ? '*' : ''} {${fields.join(', ')}}`] : []),
  ].join(' ');
  return [
    [name.padEnd(nameWidth), String(row.number ?? '-').padStart(2), sourceLabels[row.source]].join('  '),
    `${row.method} ${row.path}`,
    ...(taken === '' ? [] : new Help().boxWrap(taken, listWidth - 4).split('\n')),
  ].join('\n    ');
}

function addParameters(command: Command, row: AnyOperation): Command {
  const source = sourceLabels[row.source];
  const route = `${row.method} ${row.path} (${source}${row.number === null ? '' : `, number ${row.number}`})`;
  command.description(row.control?.includes('valves') ? `${route}\n\nMoves the valve.` : route);
  for (const each of optionsOf(row))
    command.addOption(textOption(`${optionOf(each.name)} <value>`, describe(each)));
  if (isList(row)) {
    const allPages = new Option('--all-pages', 'read all pages and print them as one list');
    command.addOption(allPages.conflicts('page'));
  }
  if (row.body) {
    const required = isBodyRequired(row) ? 'required; ' : '';
    const words = `JSON object (${required}- reads standard input, @FILE reads a file)`;
    command.addOption(textOption('--body <json>', words));
    const fields = bodyFields(row);
    const width = Math.max(...fields.map(({ name }) => name.length));
    const help = new Help();
    const lines = fields.map((field) => help.formatItem(field.name, width, describe(field), help));
    command.addHelpText('after', ['', 'Fields of the body:', ...lines].join('\n'));
  }
  if (command.name() === 'sign_in') return command;
  const words = 'use the session of an earlier call sign_in, as it is (- reads standard input)';
  return command.addOption(textOption('--token-file <file>', words));
}

/** The parameters of the path, then the fields of the query. Both are options of the command line. */
function optionsOf(row: AnyOperation): readonly Field[] {
  const param = { isRequired: true, takes: 'an ID', choices: null };
  const params = paramNames(row.path).map((name) => ({ name, ...param }));
  return [...params, ...fieldsOf(row.query).fields];
}

function bodyFields(row: AnyOperation): readonly Field[] {
  const { fields, isOpen } = fieldsOf(row.body);
  const others = { name: '…', isRequired: false, takes: 'any other field', choices: null };
  return isOpen ? [...fields, others] : fields;
}

const isList = (row: AnyOperation) => row.reply.kind === 'page';

/** Nobody changes anything by looking, and the password is in the body. The renewal of a session has an empty one. */
const isBodyRequired = (row: AnyOperation) => row.body !== undefined && row !== operationRow('refresh_token');

/** A name in the form of an option: `--sonic-id` for `sonic_id`. */
const optionOf = (name: string) => `--${name.replaceAll('_', '-')}`;

const describe = ({ takes, isRequired }: Field) => (isRequired ? `${takes} (required)` : takes);

/** The call from the options and the body. If anything is wrong with them, ends the program with all problems. */
export function readCall(command: Command, name: OperationName, body: unknown): Call {
  const row = operationRow(name);
  const typed = command.opts<Record<string, string | undefined>>();
  const given = (names: readonly string[], read: (field: string, text: string) => unknown) => {
    const values = names.map((each) => [each, typed[new Option(optionOf(each)).attributeName()]] as const);
    const entries = values.flatMap(([each, text]) => (text === undefined ? [] : [[each, read(each, text)]]));
    return Object.fromEntries(entries);
  };
  const queried = fieldsOf(row.query).fields.map((field) => field.name);
  const call = {
    params: given(paramNames(row.path), (_, text) => text),
    ...(row.query && { query: given(queried, (field, text) => readQueryValue(row, field, text)) }),
    ...(body !== undefined && { body }),
  };
  const { faults } = checkCall(row, call);
  const others = faults.filter(({ place }) => place !== 'body');
  const isBodyMissing = body === undefined && isBodyRequired(row);
  const isEmptyAllowed = row.control !== undefined && others.length === faults.length;
  const missing = `--body is missing${isEmptyAllowed ? ". Use --body '{}' for an empty one" : ''}`;
  const words = isBodyMissing ? [...others.map(faultText), missing] : faults.map(faultText);
  if (words.length > 0) command.error(words.join('\n'));
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
