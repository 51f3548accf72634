import { operationNames } from '../cloud/operations.ts';
import { configJsonSchema } from '../config/schema.ts';

/** What `sonic2mqtt schema` prints: the JSON Schema of the configuration file. */
export function configurationSchema(): string {
  return JSON.stringify(configJsonSchema(operationNames), null, 2);
}
