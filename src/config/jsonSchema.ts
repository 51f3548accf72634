import { z } from 'zod';
import { configSchema } from './schema.ts';

/** JSON Schema (draft 2020-12) of the configuration file, for editors; `operations` are the names that routes may have. */
export function configJsonSchema(operations: readonly string[]): object {
  const schema = z.toJSONSchema(configSchema, {
    target: 'draft-2020-12',
    io: 'input',
    override({ zodSchema, jsonSchema }) {
      if (zodSchema instanceof z.ZodRecord) jsonSchema.propertyNames = { enum: [...operations] };
      if (!(zodSchema instanceof z.ZodObject || zodSchema instanceof z.ZodPrefault)) return;
      // What the file leaves out may come from the environment, so no key is required.
      delete jsonSchema.required;
      if (!jsonSchema.properties) return;
      // An empty section as default says nothing that the defaults inside it do not say.
      delete jsonSchema.default;
      // `mqtt:` with nothing below it is an empty section.
      jsonSchema.type = ['object', 'null'] as unknown as 'object';
      const keys = Object.keys(jsonSchema.properties);
      const twice = keys.filter((key) => keys.includes(`${key}_file`)).map((key) => [key, `${key}_file`]);
      if (twice.length > 0) jsonSchema.allOf = twice.map((pair) => ({ not: { required: pair } }));
    },
  });
  return { ...schema, title: 'Configuration of sonic2mqtt' };
}
