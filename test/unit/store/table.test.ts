import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Change, type Reading, Table } from '../../../src/store/table.ts';

interface Valve {
  readonly id: string;
  readonly state: string;
}
const ids = ['kitchen', 'bath', 'shed'];
const states = ['open', 'closed'];
const aValve = fc.record(
  { id: fc.constantFrom(...ids), state: fc.constantFrom(...states) },
  { noNullPrototype: true },
);
const valves = fc.uniqueArray(aValve, { selector: ({ id }) => id });
const aReading: fc.Arbitrary<Reading<Valve>> = fc.record({
  records: valves,
  isComplete: fc.boolean(),
  startedAt: fc.nat(50),
});
const aSingle = fc.record({ single: aValve, startedAt: fc.nat(50) });
const isSingle = (each: object): each is { single: Valve; startedAt: number } => 'single' in each;

const complete = (startedAt: number, ...records: Valve[]) => ({ records, isComplete: true, startedAt });
const kitchen = { id: 'kitchen', state: 'open' };
const bath = { id: 'bath', state: 'open' };

describe('a table', () => {
  it('shows of each record the reading that was sent last, in whatever order they come', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(aReading, aSingle)), (readings) => {
        const table = new Table<Valve>(Number.POSITIVE_INFINITY);
        const newest = new Map<string, { at: number; states: string[] }>();
        for (const each of readings) {
          if (isSingle(each)) table.upsert(each.single.id, each.single, each.startedAt);
          else table.replaceAll(each);
          for (const { id, state } of isSingle(each) ? [each.single] : each.records) {
            const before = newest.get(id);
            if (!before || each.startedAt > before.at)
              newest.set(id, { at: each.startedAt, states: [state] });
            else if (each.startedAt === before.at) before.states.push(state);
          }
        }
        for (const [id, { at, states }] of newest) {
          expect(table.readAt(id)).toBe(at);
          expect(table.get(id)?.state).toBe(states.at(-1));
        }
      }),
    );
  });

  it('reports exactly what is different, so that a copy that follows its changes stays the same', () => {
    fc.assert(
      fc.property(fc.array(aReading), (readings) => {
        const table = new Table<Valve>();
        const follower = new Map<string, Valve>();
        for (const reading of readings) {
          for (const { id, before, after } of table.replaceAll(reading) as Change<Valve>[]) {
            expect(follower.get(id)).toBe(before);
            expect(after).not.toEqual(before);
            if (after) follower.set(id, after);
            else follower.delete(id);
          }
        }
        expect([...follower.values()].toSorted(byId)).toEqual(table.records.toSorted(byId));
      }),
    );
  });

  it('removes what two complete lists in a row are without, and nothing else', () => {
    const table = new Table<Valve>();
    table.replaceAll(complete(1, kitchen, bath));
    expect(table.replaceAll(complete(2, bath))).toEqual([]);
    expect(table.replaceAll({ ...complete(3, bath), isComplete: false })).toEqual([]);
    table.replaceAll({ ...complete(4, kitchen), isComplete: false });
    expect(table.replaceAll(complete(5, bath))).toEqual([]);
    expect(table.replaceAll(complete(6, bath))).toEqual([
      { id: 'kitchen', before: kitchen, after: undefined },
    ]);
  });

  it('is not without a record that a list of before does not have', () => {
    const table = new Table<Valve>(1);
    table.upsert('kitchen', kitchen, 5);
    expect(table.replaceAll(complete(4))).toEqual([]);
    expect(table.replaceAll(complete(6))).toHaveLength(1);
  });

  it('takes the answer to a change for newer than what was sent before it, and not for a reading', () => {
    const table = new Table<Valve>();
    table.upsert('kitchen', kitchen, 1);
    expect(table.change('kitchen', { id: 'other', state: 'closed', name: null }, 5)).toMatchObject({
      after: { id: 'kitchen', state: 'closed' },
    });
    expect(table.readAt('kitchen')).toBe(1);
    expect(table.upsert('kitchen', kitchen, 4)).toBeNull();
    expect(table.upsert('kitchen', kitchen, 6)).toMatchObject({ after: kitchen });
  });

  it('does not take up again by an older list what a change has removed', () => {
    const table = new Table<Valve>(1);
    table.upsert('kitchen', kitchen, 1);
    table.change('kitchen', { state: 'closed' }, 5);
    table.remove('kitchen');
    expect(table.replaceAll(complete(4, kitchen))).toEqual([]);
    expect(table.replaceAll(complete(6, kitchen))).toHaveLength(1);
  });

  it('is stale where a record was read too long ago, until a reading that is newer brings it', () => {
    const table = new Table<Valve>();
    table.replaceAll(complete(0, kitchen, bath));
    table.markStale(0);
    expect([table.isStale('kitchen'), table.isListFresh]).toEqual([false, true]);
    table.upsert('bath', bath, 50);
    table.markStale(1);
    expect(table.isListFresh).toBe(false);
    expect([table.isStale('kitchen'), table.isStale('bath'), table.get('kitchen')]).toEqual([
      true,
      false,
      kitchen,
    ]);
    table.markStale(2);
    expect([table.upsert('kitchen', { ...kitchen }, 0), table.isStale('kitchen')]).toEqual([null, true]);
    expect(table.upsert('kitchen', { ...kitchen }, 110)).toEqual({
      id: 'kitchen',
      before: kitchen,
      after: kitchen,
    });
    expect(table.isStale('kitchen')).toBe(false);
    table.replaceAll(complete(120, kitchen));
    expect([table.isListFresh, table.isComplete]).toEqual([true, true]);
  });
});

function byId(left: Valve, right: Valve): number {
  return left.id < right.id ? -1 : 1;
}
