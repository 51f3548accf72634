import { fieldsOf } from '../cloud/fields.ts';
import { type OperationName, operationNames, operationRow, paramNames } from '../cloud/operations.ts';

/** The catalogue as `call --list` prints it: a block for each operation. */
export function operationList(): string {
  return [legend, ...operationNames.map(listed)].join('\n\n');
}

const legend = `Each block shows the name of an operation, its number in the interface document, the source of
its route (document, published or assumed), method and path, and the fields of its JSON.
* is required. … is any other field. docs/reference/operations.md says which values they take.`;

const nameWidth = Math.max(...operationNames.map(({ length }) => length));

function listed(name: OperationName): string {
  const { number, source, method, path, query, body } = operationRow(name);
  const params = paramNames(path).map((each) => `${each}*`);
  const bodyName = needsBody(name) ? 'body*' : 'body';
  const parts = { params, query: shownFields(query), [bodyName]: shownFields(body) };
  return [
    [
      name.padEnd(nameWidth),
      String(number ?? '-').padStart(2),
      source === 'public' ? 'published' : source,
    ].join('  '),
    `${method} ${path}`,
    ...Object.entries(parts).flatMap(([part, names]) =>
      names.length > 0 ? [`${part}: ${names.join(', ')}`] : [],
    ),
  ].join('\n    ');
}

/** Nobody changes anything by looking. The renewal of a session has an empty body, and no mistake can be made with it. */
export const needsBody = (name: OperationName) =>
  operationRow(name).body !== undefined && name !== 'refresh_token';

function shownFields(schema: Parameters<typeof fieldsOf>[0]): string[] {
  const { fields, isOpen } = fieldsOf(schema);
  return [
    ...fields.map(({ name, isRequired }) => (isRequired ? `${name}*` : name)),
    ...(isOpen ? ['…'] : []),
  ];
}
