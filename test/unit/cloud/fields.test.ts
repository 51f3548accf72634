import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { faultsOf, fieldsOf, kinds } from '../../../src/cloud/fields.ts';

const schema = z.strictObject({
  name: z.string().min(1),
  open: kinds.flag.optional(),
  role: z.enum(['owner', 'guest']).optional(),
  page: kinds.page.optional(),
  count: kinds.whole.optional(),
  lat: kinds.number.optional(),
  at: z
    .string()
    .regex(/^\d\d:\d\d$/)
    .describe('a time HH:MM')
    .optional(),
});

/** What is wrong with a value, as a sentence each. */
function faults(value: unknown, of: z.ZodType = schema): string[] {
  const { error } = of.safeParse(value);
  return error ? faultsOf('body', of, value, error).map(({ name, message }) => `${name}: ${message}`) : [];
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
  it('is one sentence for every field', () => {
    expect(faults({ name: '', open: 'yes', role: 'owners', at: '1:00' })).toEqual([
      'name: must not be empty',
      'open: must be true or false',
      'role: must be one of owner, guest. Did you mean owner?',
      'at: must be a time HH:MM',
    ]);
    expect(faults({})).toEqual(['name: is missing']);
  });

  it('does not repeat what was given, which may be a secret', () => {
    const value = { name: { password: 'hunter2' }, lat: 'hunter2', role: 'hunter2', at: 'hunter2' };
    expect(faults(value).join()).not.toContain('hunter2');
  });

  it('is given for a value that is no object', () => {
    for (const value of [7, 'x', [], true]) expect(faults(value)).toEqual(['null: must be an object']);
  });

  it('asks whether a near name was meant', () => {
    expect(faults({ name: 'x', nmae: 'x', zzz: 1 })).toEqual([
      'nmae: is unknown. Did you mean name?',
      'zzz: is unknown',
    ]);
  });

  it('stays short however much is wrong, and shows names on one line', () => {
    const strange = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`x${index}`, 1]));
    const said = faults({ name: 'x', ...strange });
    expect(said).toHaveLength(11);
    expect(said.at(-1)).toBe('null: has unknown names, 5000 in total');
    const [long = '', broken] = faults({ name: 'x', ['y'.repeat(9_999)]: 1, 'a\n\u001b[2Jb': 1 });
    expect(long.length).toBeLessThan(100);
    expect(broken).toBe('a [2Jb: is unknown');
  });
});
