import { describe, expect, it } from 'vitest';
import { DetailTable } from '../../../src/store/details.ts';

interface Settings {
  readonly timezone: string;
}
const settings: Settings = { timezone: 'UTC' };

describe('settings that the cloud refuses to show', () => {
  const tableWith = (...read: (Settings | null)[]) => {
    const table = new DetailTable<Settings>();
    const news = read.map((each, at) => table.set('home', each, at, 1));
    return { table, news, shown: table.of('home') };
  };

  it('are unknown, and not none, where its first answer refuses them, as long as that is the only one', () => {
    expect(tableWith(null)).toMatchObject({ news: [false], shown: undefined });
    expect(tableWith(null, null)).toMatchObject({ news: [false, true], shown: null });
    expect(tableWith(null, settings)).toMatchObject({ news: [false, true], shown: settings });
  });

  it('are none once it has refused them twice in a row: a property that is going is refused before it is gone', () => {
    expect(tableWith(settings, null)).toMatchObject({ news: [true, false], shown: settings });
    expect(tableWith(settings, null, null)).toMatchObject({ news: [true, false, true], shown: null });
  });

  it('are none only once it has refused them for that long', () => {
    const { table } = tableWith(settings);
    const at = [10, 15, 19, 20].map((time) => table.set('home', null, time, 10));
    expect(at).toEqual([false, false, false, true]);
  });

  it('stay where it shows them in between', () => {
    expect(tableWith(settings, null, settings, null).shown).toEqual(settings);
  });

  it('are as a change has left them, for what was asked before it', () => {
    const { table } = tableWith(settings);
    expect(table.change('home', { timezone: 'Europe/Paris' }, 5)).toBe(true);
    for (const _ of [1, 2]) expect(table.set('home', null, 4, 1)).toBe(false);
    expect(table.set('home', settings, 4, 1)).toBe(false);
    expect(table.of('home')).toEqual({ timezone: 'Europe/Paris' });
  });

  it('are none of any once the cloud offers none', () => {
    const { table } = tableWith(settings);
    expect([table.drop(), table.drop()]).toEqual([true, false]);
    expect([table.of('home'), table.of('shop'), table.set('home', settings, 0)]).toEqual([null, null, false]);
  });
});
