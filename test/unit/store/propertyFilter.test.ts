import { describe, expect, it } from 'vitest';
import { PropertyFilter } from '../../../src/store/propertyFilter.ts';
import { propertyView } from '../../support/views.ts';

const property = (id: string, name: string | null) => ({ ...propertyView().property, id, name });

const properties = [
  property('1', 'North 1'),
  property('2', 'North 12'),
  property('3', 'South 1'),
  property('4', 'A*B'),
  property('5', null),
];

describe('a word of filters.properties', () => {
  it.each([
    ['North 1', ['1']],
    ['5', ['5']],
    ['North*', ['1', '2']],
    ['*1', ['1', '3']],
    ['*th*1', ['1', '3']],
    ['N*h*1*', ['1', '2']],
    ['A*B', ['4']],
    ['*', ['1', '2', '3', '4']],
    ['North 1*1', []],
    ['1*', []],
    ['north*', []],
    ['N.*', []],
  ])('%s selects %j', (word, ids) => {
    const filter = new PropertyFilter([word]);
    filter.update(properties);
    expect(properties.filter(({ id }) => filter.isSelected(id)).map(({ id }) => id)).toEqual(ids);
    expect(filter.isMatched).toBe(ids.length > 0);
  });
});
