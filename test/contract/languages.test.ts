import { describe, expect, it } from 'vitest';
import { entityTable } from '../../src/entities/tables.ts';
import { languages } from '../../src/model/language.ts';
import { type EntityName, textsIn } from '../../src/texts/texts.ts';
import { discoveryOf } from '../support/discoveries.ts';
import { wholeHouse } from '../support/views.ts';

const kinds = ['bridge', 'property', 'signal', 'sonic'] as const;

it('a name that is in no file of texts is no name of an entity, by its type', () => {
  // @ts-expect-error: it is in no file.
  const name: EntityName = 'A name without translations';
  expect(name).not.toBe('');
});

describe.each(languages.slice(1))('entities in %s', (language) => {
  it.each(kinds)('have a name each, of a %s', (kind) => {
    const names = entityTable(kind).flatMap(({ name }) => name ?? []);
    const translated = names.map((name) => textsIn(language).names[name]);
    expect(new Set(translated).size).toBe(names.length);
  });

  it('have the ids and all else that they have in English', () => {
    for (const view of wholeHouse) {
      const english = discoveryOf(view);
      const other = discoveryOf(view, { language });
      expect(Object.keys(other.components)).toEqual(Object.keys(english.components));
      for (const [id, component] of Object.entries(other.components)) {
        const { name, options, ...rest } = component;
        const { name: englishName, options: englishOptions, ...before } = english.components[id] ?? {};
        expect(rest).toEqual(before);
        // The states of some are words for people; the others are the same words in every language.
        const areWords = `${before['json_attributes_template']}`.includes("'code'");
        if (areWords) expect(options).toHaveLength([englishOptions].flat().length);
        else expect(options).toEqual(englishOptions);
        expect(rest['default_entity_id']).toMatch(
          new RegExp(`^${before['platform']}\\.[a-z0-9]+(_[a-z0-9]+)*$`),
        );
        expect(name === null).toBe(englishName === null);
      }
      expect({ ...other, components: {} }).toEqual({ ...english, components: {} });
    }
  });
});
