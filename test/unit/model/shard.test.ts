import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bridgeName, bridgeOf, isHeir, isOurs } from '../../../src/model/shard.ts';

const counts = fc.integer({ min: 1, max: 12 });
const manyIds = (count: number) => Array.from({ length: count }, (_, number) => `property-${number}`);

describe('the bridge of a property', () => {
  it('is one of them, and only one, whatever the id', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), counts, (id, count) => {
        const owners = Array.from({ length: count }, (_, index) => isOurs(id, { index, count }));
        expect(owners.filter(Boolean)).toHaveLength(1);
        expect(owners[bridgeOf(id, count)]).toBe(true);
      }),
    );
  });

  it('stays for ever: what was once decided is kept on brokers and in people’s houses', () => {
    const ids = ['home', 'shop', '0b9ad6ac-0f4c-4c2c-a3f5-9a1c6c7f3f55', ''];
    expect([1, 2, 3, 7].map((count) => ids.map((id) => bridgeOf(id, count)))).toEqual([
      [0, 0, 0, 0],
      [1, 0, 1, 0],
      [2, 0, 1, 0],
      [5, 0, 1, 6],
    ]);
  });

  it('changes only to or from the bridge that comes or goes', () => {
    fc.assert(
      fc.property(fc.string(), counts, (id, count) => {
        const [before, after] = [bridgeOf(id, count), bridgeOf(id, count + 1)];
        expect([before, count]).toContain(after);
      }),
    );
  });

  it('changes for no more properties than the new one needs, and each has its share', () => {
    const ids = manyIds(1_000);
    for (const count of [1, 2, 3, 5, 8]) {
      const moved = ids.filter((id) => bridgeOf(id, count) !== bridgeOf(id, count + 1)).length;
      expect(moved / ids.length).toBeLessThan(1.2 / (count + 1));
      for (let index = 0; index < count; index++) {
        const share = ids.filter((id) => bridgeOf(id, count) === index).length / ids.length;
        expect(share * count).toBeGreaterThan(0.8);
        expect(share * count).toBeLessThan(1.2);
      }
    }
  });
});

describe('the name of a bridge', () => {
  it('is as ever where it is alone', () => {
    expect(bridgeName({ index: 0, count: 1 })).toBe('bridge');
    expect([0, 11].map((index) => bridgeName({ index, count: 12 }))).toEqual(['bridge_0', 'bridge_11']);
  });

  it('names the bridge that deletes stale messages: itself, or the first if there is no bridge of that number', () => {
    const heirs = (name: string, count: number) =>
      Array.from({ length: count }, (_, index) => index).filter((index) => isHeir(name, { index, count }));
    expect(heirs('bridge', 1)).toEqual([0]);
    expect(heirs('bridge_3', 1)).toEqual([0]);
    expect(heirs('bridge', 3)).toEqual([0]);
    expect(heirs('bridge_0', 3)).toEqual([0]);
    expect(heirs('bridge_2', 3)).toEqual([2]);
    expect(heirs('bridge_3', 3)).toEqual([0]);
  });
});
