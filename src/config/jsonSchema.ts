import { z } from 'zod';
import { configSchema } from './schema.ts';

/** JSON Schema (draft 2020-12) of the configuration file, for editors. */
export function configJsonSchema(): object {
  const schema = z.toJSONSchema(configSchema, {
    target: 'draft-2020-12',
    io: 'input',
    override({ zodSchema, jsonSchema }) {
      if (!(zodSchema instanceof z.ZodObject || zodSchema instanceof z.ZodPrefault)) return;
      // What the file leaves out may come from the environment, so no key is required.
      delete jsonSchema.required;
      // An empty section as default says nothing that the defaults inside it do not say.
      if (jsonSchema.properties) delete jsonSchema.default;
    },
  });
  return { ...schema, title: 'Configuration of sonic2mqtt' };
}
