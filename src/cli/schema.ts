import { operationNames } from '../cloud/operations.ts';
import { configJsonSchema } from '../config/schema.ts';

/** The output of `sonic2mqtt schema`: the JSON Schema of the configuration file. */
export function configurationSchema(): string {
  return JSON.stringify(configJsonSchema(operationNames), null, 2);
}
