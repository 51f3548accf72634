import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { faultsOf, fieldsOf, kinds } from '../../../src/cloud/fields.ts';

// Which values a field takes, and what is said of any other, is shown by test/contract/operations.test.ts.

const schema = z.strictObject({
  name: z.string(),
  role: z.enum(['owner', 'guest']).optional(),
  lat: kinds.number.optional(),
});

/** What is wrong with a value, as a sentence each. */
function faults(value: unknown): string[] {
  const { error } = schema.safeParse(value);
  return error
    ? faultsOf('body', schema, value, error).map(({ name, message }) => `${name}: ${message}`)
    : [];
}

describe('the fields of a schema', () => {
  it('say whether others are taken besides', () => {
    expect(fieldsOf(z.looseObject({ a: z.string() })).isOpen).toBe(true);
    expect(
      fieldsOf(
        z
          .looseObject({ a: z.string() })
          .partial()
          .refine(() => true),
      ).isOpen,
    ).toBe(true);
    expect(fieldsOf(undefined)).toEqual({ fields: [], isOpen: false });
  });
});

describe('what is wrong with a value', () => {
  it('does not repeat what was given, which may be a secret', () => {
    const value = { name: { password: 'hunter2' }, lat: 'hunter2', role: 'hunter2' };
    expect(faults(value).join()).not.toContain('hunter2');
  });

  it('stays short however much is wrong, and shows names on one line', () => {
    const strange = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`x${index}`, 1]));
    const said = faults({ name: 'x', ...strange });
    expect(said).toEqual(['null: has 5000 unknown names']);
    const [long = '', broken] = faults({ name: 'x', ['y'.repeat(9_999)]: 1, 'a\n\u001b[2Jb': 1 });
    expect(long.length).toBeLessThan(100);
    expect(broken).toBe('a [2Jb: is unknown');
  });
});
