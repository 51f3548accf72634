import { describe, expect, it } from 'vitest';
import { slug } from '../../../src/homeassistant/slug.ts';
// Written by test/support/writeSlugs.py, with the library that Home Assistant uses.
import slugs from './slugs.json' with { type: 'json' };

const characters = Object.entries(slugs.characters);

describe('the id of a name is that which Home Assistant makes', () => {
  it.each(Object.entries(slugs.names))('%s', (name, id) => {
    expect(slug(name)).toBe(id);
  });

  it('of each character by itself, or none is made', () => {
    const different = characters.filter(([character, id]) => ![id, null].includes(slug(`x${character}y`)));
    expect(different).toEqual([]);
  });

  it('of each letter of Latin, Greek and Cyrillic languages', () => {
    const isOrdinary = /(?=\p{L})[\u00c0-\u017f\u0386-\u03ce\u0400-\u045f\u0490\u0491\u1e00-\u1e99]/u;
    const unknown = characters.filter(
      ([character]) => isOrdinary.test(character) && slug(character) === null,
    );
    expect(unknown).toEqual([]);
  });

  it('and none of a name in other letters', () => {
    for (const name of ['北京', 'Bad 北', 'حمام', '욕실', '٣']) expect(slug(name)).toBeNull();
  });
});
