import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { didYouMean, nearest } from '../../../src/base/nearest.ts';

const words = ['base_url', 'email', 'password', 'request_timeout', 'level'];

describe('a "did you mean"', () => {
  it.each([
    ['base_ulr', 'base_url'],
    ['baseurl', 'base_url'],
    ['EMAIL', 'email'],
    ['pasword', 'password'],
    ['passwort', 'password'],
    ['request_timeuot', 'request_timeout'],
    ['requesttimeout_s', 'request_timeout'],
    ['lvl', 'level'],
    ['email', 'email'],
  ])('for %s is %s', (word, meant) => {
    expect(nearest(word, words)).toBe(meant);
  });

  it.each(['', 'x', 'username', 'something_else', 'broker'])('is not asked for %j', (word) => {
    expect(nearest(word, words)).toBeNull();
  });

  it('is not asked for an empty word, however short the candidates are', () => {
    expect(nearest('', ['on', 'nl'])).toBeNull();
  });

  it('ends a sentence, and is left out where nothing is near', () => {
    expect(`unknown key${didYouMean(nearest('levl', words))}`).toBe('unknown key. Did you mean level?');
    expect(`unknown key${didYouMean(nearest('broker', words))}`).toBe('unknown key');
  });

  it('has nothing to offer without candidates', () => {
    expect(nearest('email', [])).toBeNull();
  });

  it('offers the first of those that are equally near', () => {
    expect(nearest('cat', ['car', 'cap', 'can'])).toBe('car');
  });

  it('finds the very word among any', () => {
    const lowerCase = fc.stringMatching(/^[a-z]{1,12}$/);
    fc.assert(
      fc.property(fc.uniqueArray(lowerCase, { minLength: 1 }), fc.nat(), (candidates, index) => {
        const word = candidates[index % candidates.length] ?? '';
        expect(nearest(word, candidates)).toBe(word);
      }),
    );
  });

  it('forgives a slip of one letter anywhere in a word', () => {
    const word = fc.stringMatching(/^[a-z]{3,12}$/);
    fc.assert(
      fc.property(word, fc.nat(), fc.constantFrom('', '7', '77'), (meant, place, slip) => {
        const at = place % meant.length;
        expect(nearest(meant.slice(0, at) + slip + meant.slice(at + 1), [meant])).toBe(meant);
      }),
    );
  });

  it('takes no longer for a very long word', () => {
    expect(nearest('x'.repeat(10_000_000), words)).toBeNull();
  });
});
