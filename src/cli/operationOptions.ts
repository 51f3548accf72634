import { type Field, type Fields, fieldsOf } from '../cloud/fields.ts';
import { type AnyOperation, paramNames } from '../cloud/operations.ts';

/** What `call` takes for an operation. */
export interface OperationOptions {
  /** Path parameters first, then fields of the query. */
  readonly options: readonly OperationOption[];
  /** Null where the operation takes no body. */
  readonly body: Fields | null;
  readonly isList: boolean;
}

/** A path parameter or a field of the query, as an option of the command line. */
export interface OperationOption extends Field {
  readonly place: 'params' | 'query';
}

/** The options that an operation gives rise to. */
export function optionsOf(row: AnyOperation): OperationOptions {
  const params = paramNames(row.path).map(
    (name) => ({ name, place: 'params', isRequired: true, takes: 'an id', choices: null }) as const,
  );
  const query = fieldsOf(row.query).fields.map((field) => ({ ...field, place: 'query' }) as const);
  return {
    options: [...params, ...query],
    body: row.body ? fieldsOf(row.body) : null,
    isList: row.reply.kind === 'page',
  };
}

/** How a name is written as an option: `--sonic-id` for `sonic_id`. */
export function optionOf(name: string): string {
  return `--${name.replaceAll('_', '-')}`;
}

/**
 * A body that the operation takes, to be shown as an example: what it requires, or else its first field. A value typed for a
 * field stands there if the field takes it and it is no text, which may be a secret.
 */
export function exampleBody(
  { fields }: Fields,
  typed: Readonly<Record<string, string | null>> = {},
): Readonly<Record<string, unknown>> {
  const required = fields.filter(({ isRequired }) => isRequired);
  const shown = required.length > 0 ? required : fields.slice(0, 1);
  return Object.fromEntries(shown.map((field) => [field.name, exampleValue(field, typed[field.name] ?? '')]));
}

/** A value that the field takes; of a text, only where it goes. */
function exampleValue({ name, takes, choices }: Field, typed: string): unknown {
  if (choices?.includes(typed)) return typed;
  // Whoever copies an example in a hurry must not open a valve.
  if (choices) return choices.find((choice) => choice === 'close') ?? choices[0];
  if (takes === 'true or false') return typed !== 'false';
  if (takes === 'an e-mail address') return 'me@example.com';
  if (!/^a (whole )?number/.test(takes)) return name.toUpperCase();
  return /^-?\d{1,15}(\.\d+)?$/.test(typed) ? Number(typed) : 1;
}
