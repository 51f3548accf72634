import fc from 'fast-check';
import { expect, it } from 'vitest';
import { jsonFlaw } from '../../../src/cli/jsonFlaw.ts';

it.each([
  ['', 1, 1, 'a value'],
  ['{action:"open"}', 1, 2, 'a name in double quotes'],
  ["{'action':'open'}", 1, 2, 'a name in double quotes'],
  ['{"action":open}', 1, 11, 'a value'],
  ['{"action":"open"', 1, 17, 'a comma or }'],
  ['{"action":"open}', 1, 11, 'a value'],
  ['{"action" "open"}', 1, 11, 'a colon'],
  ['{"action":"open",}', 1, 18, 'a name in double quotes'],
  ['{\n  "a": [1, 2\r\n  "b": 3\n}', 3, 3, 'a comma or ]'],
  ['{"a":1} {"b":2}', 1, 9, 'the end'],
  ['[1,]', 1, 4, 'a value'],
  ['[01]', 1, 2, 'a value'],
])('finds in %j line %i, column %i: %s', (source, line, column, expected) => {
  expect(jsonFlaw(source)).toEqual({ line, column, expected: expect.stringContaining(expected) });
});

function isJson(source: string): boolean {
  try {
    JSON.parse(source);
    return true;
  } catch {
    return false;
  }
}

it('finds none in whatever is JSON', () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(undefined, 1, '\t'), (source, indent) => {
      expect(jsonFlaw(JSON.stringify(JSON.parse(source), null, indent))).toBeNull();
      expect(jsonFlaw(source)).toBeNull();
    }),
  );
});

it('finds one exactly where the runtime does, in texts that are almost JSON', () => {
  const damaged = fc
    .tuple(
      fc.json(),
      fc.nat(),
      fc.constantFrom('', '"', '{', ']', ',', ':', '\\', '0', '-', ' ', '\u0001', 'e'),
    )
    .map(([source, at, mark]) => {
      const cut = at % (source.length + 1);
      return source.slice(0, cut) + mark + source.slice(cut + 1);
    });
  fc.assert(
    fc.property(damaged, (source) => {
      expect(jsonFlaw(source) === null).toBe(isJson(source));
    }),
    { numRuns: 1_000 },
  );
});

it('finds its way through whatever is nested deeply', () => {
  const deep = 100_000;
  expect(jsonFlaw(`${'['.repeat(deep)}${']'.repeat(deep)}`)).toBeNull();
  expect(jsonFlaw('['.repeat(deep))).toMatchObject({ column: deep + 1 });
});
