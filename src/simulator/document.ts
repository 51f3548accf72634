import { z } from 'zod';
import { jsonIn } from '../base/json.ts';
import { type OperationName, operationRow } from '../cloud/operations.ts';

// What the interface document says of bodies and queries. Its rules are those of the catalogue, except for two: the client
// sends a body without fields that the cloud needs, and no parameter that the document does not mention.

/** An answer other than success. */
export class Rejection extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const credentials = ['email', 'password'];
const action = ['action'];
const name = ['name'];

/** The fields without which there is nothing to do. In other bodies each field is one of several. */
const requiredFields: { readonly [Name in OperationName]?: readonly string[] } = {
  ...{ sign_in: credentials, create_property: name, create_invitation: ['email', 'role'] },
  ...{ act_on_incident: action, act_on_property_incident: action, change_thing_state: action },
  ...{ update_signal: name, patch_signal: name, update_sonic: name, patch_sonic: name },
  ...{ update_wifi_sonic: name, patch_wifi_sonic: name },
  update_property_configuration: ['leak_protection_enabled'],
  update_customer_notifications: ['push_enabled'],
};

/** The body, if the document permits it. */
export function acceptedBody(operation: OperationName, given: unknown): unknown {
  const body = accepted(operationRow(operation).body, given);
  const missing = requiredFields[operation]?.filter((field) => !Object.hasOwn(Object(body), field)) ?? [];
  if (missing.length > 0) throw new Rejection(422, missing.map((field) => `${field}: is missing`).join('; '));
  return body;
}

/** The parameters that the document mentions. All others change nothing. */
export function acceptedQuery(operation: OperationName, target: string): Record<string, unknown> {
  const { query } = operationRow(operation);
  const shape = shapeOf(query);
  const given = [...new URLSearchParams(target.split('?').slice(1).join('?'))].flatMap(([field, text]) => {
    const schema = Object.hasOwn(shape, field) ? shape[field] : undefined;
    return schema ? [[field, schema.safeParse(text).success ? text : (jsonIn(text) ?? text)]] : [];
  });
  return accepted(query, Object.fromEntries(given)) as Record<string, unknown>;
}

/** The schema of each field of a body or query. */
export function shapeOf(schema: z.ZodType | undefined): Readonly<Record<string, z.ZodType>> {
  return schema instanceof z.ZodObject ? (schema.shape as Record<string, z.ZodType>) : {};
}

function accepted(schema: z.ZodType | undefined, given: unknown): unknown {
  if (!schema) return {};
  const { success, data, error } = schema.safeParse(given);
  if (success) return data;
  const problems = error.issues.map(({ path, message }) => [...path, message].join(': '));
  throw new Rejection(422, problems.join('; '));
}
