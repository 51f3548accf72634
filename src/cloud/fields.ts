import { z } from 'zod';
import { didYouMean, nearest } from '../base/nearest.ts';
import { oneLine } from './oneLine.ts';

/** A field of a query or of a body. */
export interface Field {
  readonly name: string;
  readonly isRequired: boolean;
  /** Which values it takes: a phrase that follows "must be". */
  readonly takes: string;
  /** The only allowed values, if they are known. */
  readonly choices: readonly string[] | null;
}

/** The fields that a schema names. */
export interface Fields {
  readonly fields: readonly Field[];
  /** Whether it also takes fields that are not listed. */
  readonly isOpen: boolean;
}

/** A fault in a call: where it is, and a message that follows the name of the parameter or field. */
export interface CallFault {
  readonly place: 'params' | 'query' | 'body';
  /** The parameter or field; null if the fault is in the whole query or body. */
  readonly name: string | null;
  readonly message: string;
}

/** What JSON Schema says about a field. */
interface FieldSchema {
  readonly type?: string;
  /** Which values it takes, if the other keys do not say so. */
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** The fields of a schema, in its order. */
export function fieldsOf(schema: z.ZodType | undefined): Fields {
  if (!schema) return { fields: [], isOpen: false };
  const { properties = {}, required = [], additionalProperties } = z.toJSONSchema(schema, { io: 'input' });
  const fields = Object.entries(properties).map(([name, property]) => {
    const known = property as FieldSchema;
    const choices = known.enum ?? null;
    return { name, isRequired: required.includes(name), takes: takenBy(known), choices };
  });
  return { fields, isOpen: additionalProperties !== false };
}

function takenBy({ type, description, enum: choices, format, minimum, maximum }: FieldSchema): string {
  if (description !== undefined) return description;
  if (choices) return `one of ${choices.join(', ')}`;
  switch (type) {
    case 'boolean':
      return 'true or false';
    case 'integer':
      return `a whole number${bounds(minimum, maximum)}`;
    case 'number':
      return 'a number';
    default:
      return format === 'email' ? 'an e-mail address' : 'text';
  }
}

function bounds(minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER): string {
  if (maximum < Number.MAX_SAFE_INTEGER) return ` from ${minimum} to ${maximum}`;
  return minimum > Number.MIN_SAFE_INTEGER ? ` from ${minimum}` : '';
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
  const faults = error.issues.flatMap((issue): CallFault[] => {
    if (issue.code === 'unrecognized_keys') {
      return unknownNames(
        place,
        issue.keys,
        fields.map(({ name }) => name),
      );
    }
    const field = fields.find(({ name }) => name === issue.path[0]);
    if (!field) {
      const message = issue.code === 'custom' ? issue.message : 'must be an object';
      return [{ place, name: null, message }];
    }
    const { name, takes, choices } = field;
    const wrong = given.get(name);
    if (wrong === undefined) return [{ place, name, message: 'is missing' }];
    if (wrong === '' && takes === 'text') return [{ place, name, message: 'must not be empty' }];
    const hint = choices && typeof wrong === 'string' ? didYouMean(nearest(wrong, choices)) : '';
    return [{ place, name, message: `must be ${takes}${hint}` }];
  });
  // A value can be wrong in several ways that lead to the same message.
  const isFirst = ({ name, message }: CallFault, index: number) =>
    faults.findIndex((each) => each.name === name && each.message === message) === index;
  return faults.filter(isFirst);
}

const mostNamed = 10;

/** Faults of unknown names. If there are very many, only of the first ones. */
export function unknownNames(
  place: CallFault['place'],
  names: readonly string[],
  known: readonly string[],
): CallFault[] {
  const faults: CallFault[] = names.slice(0, mostNamed).map((name) => {
    return { place, name: oneLine(name, 60), message: `is unknown${didYouMean(nearest(name, known))}` };
  });
  if (names.length === faults.length) return faults;
  return [...faults, { place, name: null, message: `has unknown names, ${names.length} in total` }];
}
