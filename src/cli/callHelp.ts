import type { Field } from '../cloud/fields.ts';
import { type OperationName, operationRow } from '../cloud/operations.ts';
import { operationNamed, operationWord } from './callLine.ts';
import { sourceLabels } from './operationList.ts';
import { exampleBody, optionOf, optionsOf } from './operationOptions.ts';
import { wrapped } from './wrapped.ts';

const width = 96;

const grammar = [
  '',
  'OPERATION      its name, as call --list shows it',
  '--NAME VALUE   a path parameter or a field of the query: --sonic-id ID, also --sonic_id=ID',
  '--body JSON    the body; - reads it from standard input, @FILE from a file',
  '--all-pages    all pages of a list in one envelope',
  '--list         the operations and what they take; needs no configuration',
  '',
  'sonic2mqtt call OPERATION --help says what an operation takes.',
  '',
  'For example:',
  '  sonic2mqtt call list_incidents --open true',
  '  sonic2mqtt call command_valve --sonic-id ID --body \'{"action":"close"}\'',
  '  sonic2mqtt call sign_in --body - < credentials.json',
  '',
  'The answer is JSON on standard output: indented on a terminal, else one line. What control forbids',
  'to MQTT is not forbidden here; what cloud.routes switches off is. Each call signs in to a session',
  'of its own and out again, so that a running bridge keeps its token; what sign_in opens stays open.',
];

/** More lines of help on `call`, or on the operation that its words name. */
export function callHelp(words: readonly string[]): string[] {
  const word = operationWord(words);
  return word === undefined ? grammar : operationHelp(operationNamed(word));
}

function operationHelp(name: OperationName): string[] {
  const row = operationRow(name);
  const { options, body, isList } = optionsOf(row);
  const number = row.number === null ? '' : `, number ${row.number} of the interface document`;
  return [
    '',
    `${name}${number}`,
    `${row.method} ${row.path} (${sourceLabels[row.source]})`,
    '',
    ...described([
      ...options.map((option) => ({ name: optionOf(option.name), words: wordsOf(option) })),
      ...(isList ? [{ name: '--all-pages', words: 'all pages in one envelope' }] : []),
      ...(body ? [{ name: '--body JSON', words: 'an object; - is standard input, @FILE a file' }] : []),
    ]),
    ...described([
      ...(body?.fields ?? []).map((field) => ({ name: `  ${field.name}`, words: wordsOf(field) })),
      ...(body?.isOpen ? [{ name: '  …', words: 'any other field' }] : []),
    ]),
    ...(options.length > 0 || body ? [''] : []),
    'For example:',
    `  sonic2mqtt ${['call', name, ...exampleOptions(name)].map(quoted).join(' ')}`,
  ];
}

/** Names and what they are, in two columns. */
function described(rows: readonly { readonly name: string; readonly words: string }[]): string[] {
  const nameWidth = Math.max(...rows.map(({ name }) => name.length)) + 2;
  return rows.flatMap(({ name, words }) => {
    const [first = '', ...others] = wrapped(words.split(' '), width, ' '.repeat(nameWidth));
    return [`${name}${first.slice(name.length)}`, ...others];
  });
}

function wordsOf({ takes, isRequired }: Field): string {
  return isRequired ? `${takes} (required)` : takes;
}

/** Options that make a call of an operation that is understood. */
export function exampleOptions(name: OperationName): string[] {
  const row = operationRow(name);
  const { options, body, isList } = optionsOf(row);
  const required = options.filter(({ isRequired }) => isRequired);
  return [
    ...required.flatMap((option) => [optionOf(option.name), option.name.toUpperCase()]),
    ...(isList ? ['--all-pages'] : []),
    // A password does not belong into the list of processes.
    ...(body ? ['--body', row.session ? '-' : JSON.stringify(exampleBody(body))] : []),
  ];
}

function quoted(word: string): string {
  return /^[\w-]+$/.test(word) ? word : `'${word}'`;
}
