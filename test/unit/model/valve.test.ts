import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { valveStates } from '../../../src/model/records.ts';
import { type AcceptedCommand, settledValve, valveShown, valveShownAfter } from '../../../src/model/valve.ts';

describe('the valve that is shown', () => {
  it.each([
    ['open', null, 'open'],
    ['open', 'closed', 'open'],
    ['closed', 'open', 'closed'],
    ['opening', 'closed', 'opening'],
    ['requested_open', 'closed', 'opening'],
    ['closing', 'open', 'closing'],
    ['requested_closed', 'open', 'closing'],
    ['pressure_test', 'open', 'open'],
    ['pressure_test', 'closed', 'closed'],
    ['pressure_test', null, null],
    ['faulty', 'open', null],
    ['faulty', null, null],
    [null, 'open', null],
    [null, null, null],
    ['ajar', 'open', null],
    ['OPEN', 'closed', 'open'],
    [' Requested_Closed', 'open', 'closing'],
    ['', 'open', null],
  ] as const)('for %s after %s is %s', (state, lastSettled, shown) => {
    expect(valveShown(state, lastSettled)).toBe(shown);
  });

  it('is never a guess for a word that is not known', () => {
    const known: readonly string[] = valveStates;
    const word = fc.oneof(fc.string(), fc.constantFrom(...Object.getOwnPropertyNames(Object.prototype)));
    fc.assert(
      fc.property(word, fc.constantFrom('open' as const, 'closed' as const, null), (state, lastSettled) => {
        fc.pre(!known.includes(state.trim().toLowerCase()));
        expect(valveShown(state, lastSettled)).toBeNull();
      }),
    );
  });
});

describe('the settled position', () => {
  it.each([
    ['open', 'open'],
    ['closed', 'closed'],
    ['opening', null],
    ['closing', null],
    ['requested_open', null],
    ['requested_closed', null],
    ['pressure_test', null],
    ['faulty', null],
    ['ajar', null],
    ['Closed', 'closed'],
    [null, null],
  ])('of %s is %s', (state, settled) => {
    expect(settledValve(state)).toBe(settled);
  });
});

describe('the valve after an accepted command', () => {
  const close: AcceptedCommand = { action: 'close', stateBefore: 'open', wasMoving: false };
  const open: AcceptedCommand = { action: 'open', stateBefore: 'closed', wasMoving: false };

  it('moves until the cloud says anything new', () => {
    expect(valveShownAfter(close, 'OPEN', 'open')).toBe('closing');
    expect(valveShownAfter(close, 'open', 'open')).toBe('closing');
    expect(valveShownAfter(open, 'closed', 'closed')).toBe('opening');
  });

  it.each([
    ['requested_closed', 'closing'],
    ['closing', 'closing'],
    ['closed', 'closed'],
    ['opening', 'opening'],
    ['faulty', null],
    ['pressure_test', 'open'],
    [null, null],
  ])('is what the cloud says as soon as that is new: %s is %s', (state, shown) => {
    expect(valveShownAfter(close, state, 'open')).toBe(shown);
  });

  it('that was there already does not move', () => {
    expect(valveShownAfter({ ...close, stateBefore: 'closed' }, 'closed', 'closed')).toBe('closed');
    expect(valveShownAfter({ ...open, stateBefore: 'open' }, 'open', 'open')).toBe('open');
  });

  it('that was there and has left on the word of another comes back', () => {
    const back: AcceptedCommand = { action: 'close', stateBefore: 'closed', wasMoving: true };
    expect(valveShownAfter(back, 'closed', 'closed')).toBe('closing');
    expect(valveShownAfter(back, 'open', 'open')).toBe('open');
  });

  it('moves too when nothing, a fault or a test was known before', () => {
    for (const stateBefore of [null, 'faulty', 'pressure_test', 'ajar']) {
      expect(valveShownAfter({ ...close, stateBefore }, stateBefore, null)).toBe('closing');
    }
  });

  it('is what the cloud says without one', () => {
    expect(valveShownAfter(null, 'open', null)).toBe('open');
    expect(valveShownAfter(null, 'pressure_test', 'closed')).toBe('closed');
  });
});
