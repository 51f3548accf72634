import { expect } from 'vitest';
import type { Home } from './home.ts';
import { tell } from './words.ts';

const today = '2026-03-02';
const usageOf = (home: Home) => home.json(`sonic/${home.sonicId}/usage`);

/** Litres by date of this month and last, as the cloud has them now. */
function daysOf({ world, sonicId }: Home): Record<string, number> {
  const months = [2, 3].flatMap((month) => world.usage(sonicId, { year: 2026, month }).daily);
  return Object.fromEntries(months.map(({ date, liters }) => [date, liters]));
}

const sum = (litres: readonly number[]) =>
  litres.reduce((total, each) => total + Math.round(each * 10), 0) / 10;

/** The total at a moment, and the files at another. */
const kept = new WeakMap<
  Home,
  { readonly total?: number; readonly from?: number; readonly files?: ReadonlyMap<string, string> }
>();

tell(import.meta.url, {
  correct: ({ world, sonicId }, date = '', litres = '') => world.correctUsage(sonicId, date, Number(litres)),
  test: ({ world, sonicId }) => void world.addPressureTest(sonicId, { source: 'app' }),
  /** Water runs while it is read. */
  same: async (home) => {
    await home.until(() => usageOf(home).days[today] === daysOf(home)[today], 'the water of today');
    const days = daysOf(home);
    const all = Object.entries(days);
    expect(usageOf(home)).toEqual({
      today: days[today],
      yesterday: days['2026-03-01'],
      month: sum(all.filter(([date]) => date.startsWith('2026-03')).map(([, litres]) => litres)),
      total: sum(all.map(([, litres]) => litres)),
      last_reset: `${today}T00:00:00+00:00`,
      days,
      updated_at: expect.stringMatching(/^2026-03-02T\d\d:/),
    });
    return 'the same as in the cloud';
  },
  save: (home) => void kept.set(home, { files: new Map(home.disk.files) }),
  older: (home) => kept.get(home)?.files?.forEach((text, path) => void home.disk.files.set(path, text)),
  mark: (home) => {
    const published = home.published(`sonic/${home.sonicId}/usage`);
    kept.set(home, { ...kept.get(home), total: usageOf(home).total, from: published.length });
  },
  /** Whether a total was shown since that is none, or smaller than at the moment that was marked. */
  smallest: (home) => {
    const { total: least = 0, from = 0 } = kept.get(home) ?? {};
    const totals = home
      .published(`sonic/${home.sonicId}/usage`)
      .map(({ payload }) => JSON.parse(payload).total);
    const since = totals.slice(from);
    const wrong = since.filter((each) => each !== null && each < least);
    return `smaller totals: ${wrong}, ${since.includes(null) ? 'once' : 'never'} none, now ${since.at(-1) > 0 && since.at(-1) >= least ? 'right' : 'wrong'}`;
  },
});
