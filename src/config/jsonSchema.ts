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
      if (twice.length > 0) jsonSchema.allOf = twice.map(notBoth);
    },
  });
  return { ...withEmptyOptions(schema), title: 'Configuration of sonic2mqtt' };
}

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** `password:` with nothing after it is as good as none. */
function notBoth(pair: string[]) {
  const properties = Object.fromEntries(pair.map((key) => [key, { type: 'string' as const }]));
  return { not: { properties, required: pair } };
}

/** `keepalive:` with nothing after it is the default. */
function withEmptyOptions(section: JsonSchema): JsonSchema {
  const options = Object.entries(section.properties ?? {}).map(([key, option]) => [
    key,
    isSection(option) ? withEmptyOptions(option) : mayBeEmpty(option),
  ]);
  return { ...section, properties: Object.fromEntries(options) };
}

const isSection = (schema: z.core.JSONSchema._JSONSchema): schema is JsonSchema =>
  typeof schema === 'object' && schema.properties !== undefined;

function mayBeEmpty(option: z.core.JSONSchema._JSONSchema) {
  if (typeof option === 'boolean') return option;
  if (option.anyOf) {
    const others = option.anyOf.filter((each) => typeof each === 'boolean' || each.type !== 'null');
    return { ...option, anyOf: [...others, { type: 'null' as const }] };
  }
  const type = [...new Set([option.type ?? [], 'null'].flat())] as unknown as 'null';
  return { ...option, type, ...(option.enum && { enum: [...option.enum, null] }) };
}
