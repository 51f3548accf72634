import { describe, expect, it } from 'vitest';
import { DetailTable } from '../../../src/store/details.ts';

interface Settings {
  readonly timezone: string;
}
const settings: Settings = { timezone: 'UTC' };

describe('settings that the cloud refuses to show', () => {
  const tableWith = (...read: (Settings | null)[]) => {
    const table = new DetailTable<Settings>();
    for (const [at, each] of read.entries()) table.set('home', each, at, 1);
    return { table, shown: table.of('home') };
  };

  it('are unknown, and not none, where its first answer refuses them, as long as that is the only one', () => {
    expect(tableWith(null).shown).toBeUndefined();
    expect(tableWith(null, null).shown).toBeNull();
    expect(tableWith(null, settings).shown).toBe(settings);
  });

  it('are none once it has refused them twice in a row: a property that is going is refused before it is gone', () => {
    expect(tableWith(settings, null).shown).toBe(settings);
    expect(tableWith(settings, null, null).shown).toBeNull();
  });

  it('are none only once it has refused them for that long', () => {
    const { table } = tableWith(settings);
    const shown = [10, 15, 19, 20].map((time) => {
      table.set('home', null, time, 10);
      return table.of('home');
    });
    expect(shown).toEqual([settings, settings, settings, null]);
  });

  it('stay where it shows them in between', () => {
    expect(tableWith(settings, null, settings, null).shown).toEqual(settings);
  });

  it('are as a change has left them, for what was asked before it', () => {
    const { table } = tableWith(settings);
    table.change('home', { timezone: 'Europe/Paris' }, 5);
    for (const asked of [null, null, settings]) table.set('home', asked, 4, 1);
    expect(table.of('home')).toEqual({ timezone: 'Europe/Paris' });
  });

  it('are none of any once the cloud offers none', () => {
    const { table } = tableWith(settings);
    table.drop();
    table.set('home', settings, 9);
    expect([table.of('home'), table.of('shop')]).toEqual([null, null]);
  });
});
