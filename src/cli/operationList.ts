import type { Source } from '../cloud/catalogue.ts';
import type { Field, Fields } from '../cloud/fields.ts';
import { type AnyOperation, operationNames, operationRow } from '../cloud/operations.ts';
import { optionOf, optionsOf } from './operationOptions.ts';
import { wrapped } from './wrapped.ts';

/** Where a route is known from, as people are told. */
export const sourceLabels: Readonly<Record<Source, string>> = {
  document: 'document',
  public: 'published',
  assumed: 'assumed',
};

const width = 100;
const indent = '    ';

/** The lines of `call --list`: the catalogue, a block for each operation. */
export function operationList(): string[] {
  const nameWidth = Math.max(...operationNames.map((name) => name.length));
  const blocks = operationNames.map((name) => {
    const row = operationRow(name);
    const { number, method, path, source } = row;
    const head = [name.padEnd(nameWidth), String(number ?? '-').padStart(2), sourceLabels[source]];
    return [head.join('  '), `${indent}${method} ${path}`, ...wrapped(takenBy(row), width, indent), ''];
  });
  return [
    ...wrapped(legend.split(' '), width),
    '',
    ...blocks.flat(),
    'sonic2mqtt call OPERATION --help says what each of them takes.',
  ];
}

const legend =
  'Operations of the cloud: name; number in the interface document, if it has one; where its route is known from (the document, published elsewhere, or assumed); method and path; what it takes. Marked * is required; … is any other field.';

/** What an operation takes, in words that a line can be broken between. */
function takenBy(row: AnyOperation): string[] {
  const { options, body, isList } = optionsOf(row);
  return [
    ...options.map((option) => marked(option, optionOf(option.name))),
    ...(isList ? ['--all-pages'] : []),
    ...(body ? ['--body', ...bodyWords(body)] : []),
  ];
}

function bodyWords({ fields, isOpen }: Fields): string[] {
  const names = [...fields.map((field) => marked(field, field.name)), ...(isOpen ? ['…'] : [])];
  const last = names.length - 1;
  return names.map((name, index) => `${index === 0 ? '{' : ''}${name}${index === last ? '}' : ','}`);
}

function marked({ isRequired }: Pick<Field, 'isRequired'>, name: string): string {
  return isRequired ? `${name}*` : name;
}
