import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sanitize } from '../../../src/base/sanitize.ts';

it('what a terminal acts on is shown as it would be written in JSON', () => {
  expect(sanitize('a\nb\r\t\u001b[2J\u009b31m\u007f \u2028\u202e')).toBe(
    'a\\u000ab\\u000d\\u0009\\u001b[2J\\u009b31m\\u007f \\u2028\\u202e',
  );
});

it('what people read stays as it is', () => {
  const text = 'Größe 水 👩‍👩‍👧 "quoted" \\back';
  expect(sanitize(text)).toBe(text);
});

it('a JSON text means the same', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(JSON.parse(sanitize(text))).toEqual(JSON.parse(text));
    }),
  );
});
