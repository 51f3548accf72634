import { type Field, type Fields, fieldsOf } from '../cloud/fields.ts';
import { type AnyOperation, operationRow, paramNames } from '../cloud/operations.ts';

/** The options and the body of an operation for `call`. */
interface OperationOptions {
  /** Path parameters come first, then fields of the query. */
  readonly options: readonly OperationOption[];
  /**
   * Null if the operation takes no body. It is expected if the operation changes something, so that nobody changes it by
   * looking, or if it carries the password. Only the renewal of a session mostly has an empty one.
   */
  readonly body: (Fields & { readonly isExpected: boolean }) | null;
  readonly isList: boolean;
}

/** A path parameter or a field of the query, as an option of the command line. */
interface OperationOption extends Field {
  readonly place: 'params' | 'query';
}

/** The options and the body of an operation for `call`, from its row in the catalogue. */
export function optionsOf(row: AnyOperation): OperationOptions {
  const params = paramNames(row.path).map(
    (name) => ({ name, place: 'params', isRequired: true, takes: 'an ID', choices: null }) as const,
  );
  const query = fieldsOf(row.query).fields.map((field) => ({ ...field, place: 'query' }) as const);
  return {
    options: [...params, ...query],
    body: row.body ? { ...fieldsOf(row.body), isExpected: row !== operationRow('refresh_token') } : null,
    isList: row.reply.kind === 'page',
  };
}

/** A name in the form of an option: `--sonic-id` for `sonic_id`. */
export function optionOf(name: string): string {
  return `--${name.replaceAll('_', '-')}`;
}

/** `--body` for an example: the required fields, or else the first field. */
export function exampleBody(body: Fields | null): string {
  const fields = body?.fields ?? [];
  const required = fields.filter(({ isRequired }) => isRequired);
  // If other fields are allowed too, all known fields are shown, because they are few.
  const others = body?.isOpen ? fields : fields.slice(0, 1);
  const shown = required.length > 0 ? required : others;
  return `--body '${JSON.stringify(Object.fromEntries(shown.map((field) => [field.name, exampleValue(field)])))}'`;
}

function exampleValue({ name, takes, choices }: Field): unknown {
  // A user who copies an example without reading it must not open a valve.
  if (choices) return choices.find((choice) => choice === 'close') ?? choices[0];
  if (takes === 'true or false') return true;
  if (takes === 'an e-mail address' || name === 'email') return 'me@example.com';
  return /^a (whole )?number/.test(takes) ? 1 : name.toUpperCase();
}
