import { describe, expect, it } from 'vitest';
import { InfoDocument, type InfoInputs } from '../../../src/publishing/infoDocument.ts';

const now: InfoInputs = {
  figures: { lastUpdate: null, requestsLastHour: 7 },
  counts: { properties: 1, signals: 1, sonics: 4, open_incidents: 0 },
  applianceCategories: undefined,
  availability: () => 'available',
};

const start = Date.parse('2026-11-20T09:00:00.000Z');

describe('what the bridge tells of itself', () => {
  it.each<[string, Partial<InfoInputs>, object]>([
    ['a figure', { figures: { lastUpdate: null, requestsLastHour: 8 } }, { requests_last_hour: 8 }],
    ['a count', { counts: { ...now.counts, open_incidents: 1 } }, { counts: { open_incidents: 1 } }],
    ['the categories', { applianceCategories: [] }, { appliance_categories: [] }],
    [
      'an operation',
      { availability: (name) => (name === 'read_hub' ? 'unavailable' : 'available') },
      { operations: { read_hub: 'unavailable', read_sonic: 'available' } },
    ],
  ])('is written anew when %s is another', (_what, change, shown) => {
    const document = new InfoDocument('a', () => start, { cloud: {} });
    const before = document.text(now);
    expect(document.text({ ...now })).toBe(before);
    const after = document.text({ ...now, ...change });
    expect(JSON.parse(after)).toMatchObject(shown);
    expect(document.text(now)).toBe(before);
  });

  it('tells another start once the clock was set, and is the same bridge for all that', () => {
    let reckoned = Date.parse('1970-01-01T00:00:07.000Z');
    const document = new InfoDocument('a', () => reckoned, {});
    const told = () => JSON.parse(document.text(now));
    expect(told()).toMatchObject({ started_at: '1970-01-01T00:00:07.000Z', instance_id: 'a' });
    reckoned = start;
    expect(told()).toMatchObject({ started_at: '2026-11-20T09:00:00.000Z', instance_id: 'a' });
    expect(document.startedAt).toBe(start);
  });

  it('does not tell another start each time that the clocks differ a little', () => {
    let reckoned = start;
    const document = new InfoDocument('a', () => reckoned, {});
    const text = document.text(now);
    for (const offMs of [1, -1, 59_000, -59_000]) {
      reckoned = start + offMs;
      expect(document.text(now)).toBe(text);
    }
  });
});
