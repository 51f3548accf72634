import { Help } from 'commander';
import type { Source } from '../cloud/catalogue.ts';
import type { Field } from '../cloud/fields.ts';
import { type AnyOperation, operationNames, operationRow } from '../cloud/operations.ts';
import { optionOf, optionsOf } from './operationOptions.ts';

/** For people: where a route is known from. */
export const sourceLabels: Readonly<Record<Source, string>> = {
  document: 'document',
  public: 'published',
  assumed: 'assumed',
};

const indent = '    ';
const width = 100;

/** The output of `call --list`: the catalogue, a block for each operation. */
export function operationList(): string {
  const nameWidth = Math.max(...operationNames.map((name) => name.length));
  const blocks = operationNames.map((name) => {
    const row = operationRow(name);
    const head = [name.padEnd(nameWidth), String(row.number ?? '-').padStart(2), sourceLabels[row.source]];
    const taken = new Help().boxWrap(takenBy(row), width - indent.length).split('\n');
    return [head.join('  '), `${row.method} ${row.path}`, ...taken].filter(Boolean).join(`\n${indent}`);
  });
  return [legend, ...blocks, 'sonic2mqtt call OPERATION --help explains the parameters.'].join('\n\n');
}

const legend = `Each block shows the name of an operation, its number in the interface document, the source of
its route (document, published or assumed), method and path, and parameters.
* is required. … is any other field.`;

/** The parameters and fields of an operation. */
function takenBy(row: AnyOperation): string {
  const { options, body, isList } = optionsOf(row);
  const fields = [
    ...(body?.fields ?? []).map((field) => marked(field, field.name)),
    ...(body?.isOpen ? ['…'] : []),
  ];
  return [
    ...options.map((option) => marked(option, optionOf(option.name))),
    ...(isList ? ['--all-pages'] : []),
    ...(body ? [`--body${body.isExpected ? '*' : ''} {${fields.join(', ')}}`] : []),
  ].join(' ');
}

function marked({ isRequired }: Field, name: string): string {
  return isRequired ? `${name}*` : name;
}
