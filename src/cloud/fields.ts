import { z } from 'zod';
import { didYouMean, nearest } from '../base/nearest.ts';
import { oneLine } from './oneLine.ts';

export interface Field {
  readonly name: string;
  readonly isRequired: boolean;
  /** Which values it takes: a phrase that follows "must be". */
  readonly takes: string;
  /** The only allowed values, if they are known. */
  readonly choices: readonly string[] | null;
}

export interface CallFault {
  readonly place: 'params' | 'query' | 'body';
  /** The parameter or field; null if the fault is in the whole query or body. */
  readonly name: string | null;
  /** Follows the name. */
  readonly message: string;
}

/** The schemas of fields, with the words for what they take. A field without such words takes any text. */
export const kinds = {
  text: z.string(),
  flag: z.boolean().describe('true or false'),
  number: z.number().describe('a number'),
  whole: z.int().describe('a whole number'),
  page: z.int().min(1).describe('a whole number from 1'),
} as const;

/** Fields that have the same schema. Their order stays, since records keep it. */
export function all<Name extends string, Schema>(
  schema: Schema,
  ...names: readonly Name[]
): Record<Name, Schema> {
  return Object.fromEntries(names.map((name) => [name, schema])) as Record<Name, Schema>;
}

/** `isOpen`: whether it also takes fields that are not listed. */
export function fieldsOf(schema: z.ZodType | undefined) {
  if (!schema) return { fields: [], isOpen: false };
  const { properties = {}, required = [], additionalProperties } = z.toJSONSchema(schema, { io: 'input' });
  const fields = Object.entries(properties).map(([name, property]): Field => {
    const known = property as { readonly description?: string; readonly enum?: readonly string[] };
    const choices = known.enum ?? null;
    const takes = known.description ?? (choices ? `one of ${choices.join(', ')}` : 'text');
    return { name, isRequired: required.includes(name), takes, choices };
  });
  return { fields, isOpen: additionalProperties !== false };
}

/** What the schema finds wrong with a value. The value itself is not repeated, since it may be a secret. */
export function faultsOf(
  place: CallFault['place'],
  schema: z.ZodType,
  value: unknown,
  error: z.ZodError,
): CallFault[] {
  const { fields } = fieldsOf(schema);
  const given = new Map(Object.entries(value ?? {}));
  const names = fields.map(({ name }) => name);
  const faults = error.issues.flatMap((issue): CallFault[] => {
    if (issue.code === 'unrecognized_keys') return unknownNames(place, issue.keys, names);
    const field = fields.find(({ name }) => name === issue.path[0]);
    if (!field) return [{ place, name: null, message: 'must be an object' }];
    const { name, takes, choices } = field;
    const wrong = given.get(name);
    if (wrong === undefined) return [{ place, name, message: 'is missing' }];
    const hint = choices && typeof wrong === 'string' ? didYouMean(nearest(wrong, choices)) : '';
    return [{ place, name, message: `must be ${takes}${hint}` }];
  });
  // A value can be wrong in several ways that lead to the same message.
  return [...new Map(faults.map((fault) => [`${fault.name} ${fault.message}`, fault])).values()];
}

/** The faults of unknown names. Very many are only counted. */
export function unknownNames(
  place: CallFault['place'],
  names: readonly string[],
  known: readonly string[],
): CallFault[] {
  if (names.length > 10) return [{ place, name: null, message: `has ${names.length} unknown names` }];
  return names.map((name) => {
    return { place, name: oneLine(name, 60), message: `is unknown${didYouMean(nearest(name, known))}` };
  });
}
