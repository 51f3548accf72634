import { describe, expect, it } from 'vitest';
import { valueAt, withoutEmpty, withValueAt } from '../../../src/config/tree.ts';

describe('a tree of options', () => {
  const tree = { mqtt: { url: 'x', ports: [1, 2] }, log: 'loud' };

  it('gives the value at a path, and nothing where there is none', () => {
    expect(valueAt(tree, ['mqtt', 'ports', 1])).toBe(2);
    expect(valueAt(tree, [])).toBe(tree);
    expect(valueAt(tree, ['mqtt', 'toString'])).toBeUndefined();
    expect(valueAt(tree, ['log', 'level'])).toBeUndefined();
  });

  it('is not changed by giving it another value', () => {
    expect(withValueAt(tree, ['mqtt', 'url'], 'y')).toEqual({ ...tree, mqtt: { url: 'y', ports: [1, 2] } });
    expect(withValueAt(tree, ['http', 'webhook', 'secret'], 'y')).toEqual({
      ...tree,
      http: { webhook: { secret: 'y' } },
    });
    expect(tree.mqtt.url).toBe('x');
  });

  it('loses a value without gaining empty sections', () => {
    expect(withValueAt(tree, ['mqtt', 'url'], undefined)).toEqual({ ...tree, mqtt: { ports: [1, 2] } });
    expect(withValueAt(tree, ['http', 'listen'], undefined)).toEqual(tree);
  });

  it('stays as it is where the path runs through something else', () => {
    expect(withValueAt(tree, ['log', 'level'], 'info')).toEqual(tree);
    expect(withValueAt(tree, [], 'info')).toEqual(tree);
  });

  it('loses its empty values, but not those that are kept', () => {
    const given = { a: null, b: { c: null, d: { e: null, f: 0 } }, g: [null] };
    expect(withoutEmpty(given, (path) => path.join('.') === 'b.d.e')).toEqual({
      b: { d: { e: null, f: 0 } },
      g: [null],
    });
  });
});
