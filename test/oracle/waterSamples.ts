import { isKnownTimezone, localDayAt, localTime } from '../../src/simulator/localTime.ts';
import type { World } from '../../src/simulator/world.ts';
import type { Shown } from './recordTruths.ts';

/** What the cloud had of a sonic's water at one time. */
interface Sample {
  readonly at: number;
  /** When its day began. */
  readonly startMs: number;
  readonly today: number | null;
  readonly yesterday: number | null;
  readonly dayBefore: number | null;
}

/** Whether an entity shows water that a day has used, of which there is no record that changes. */
export function isWaterUse(componentId: string): boolean {
  return componentId === 'sensor_water_today' || componentId === 'sensor_water_yesterday';
}

/** The litres of the days that the cloud told of, each time that it was asked: they grow all the time. */
export class WaterSamples {
  readonly #samples = new Map<string, Sample[]>();
  readonly #now: () => number;

  /** By that clock, in ms since 1970. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** The cloud is asked for the water of a sonic now, which is in one of these time zones, as far as the bridge may know. */
  take(world: World, id: string, timeZones: Iterable<string>): void {
    // Nobody knows the day of a place that is nowhere.
    for (const timeZone of timeZones) if (isKnownTimezone(timeZone)) this.#take(world, id, timeZone);
    // Of several properties nobody can tell to which a sonic on Wi-Fi belongs.
    if (world.wifiSonics.has(id) && world.properties.size > 1) this.#take(world, id, 'UTC');
  }

  #take(world: World, id: string, timeZone: string): void {
    const now = this.#now();
    const { date, startMs } = localDayAt(now, timeZone);
    // Not by `localDayAt`, which knows one day of each time zone, and searches for the bounds of another.
    const before = localTime(startMs - 1, timeZone).date;
    const read = (day: string) =>
      world.usage(id, { year: Number(day.slice(0, 4)), month: Number(day.slice(5, 7)) }).daily;
    const month = read(date);
    const monthBefore = before.slice(0, 7) === date.slice(0, 7) ? month : read(before);
    const litersOn = (days: typeof month, day: string) =>
      Number(days.find((each) => each.date === day)?.liters ?? 0);
    const samples = this.#samples.get(id) ?? [];
    const [today, yesterday] = [litersOn(month, date), litersOn(monthBefore, before)];
    const twoBefore = new Date(Date.parse(before) - 86_400_000).toISOString().slice(0, 10);
    const dayBefore = litersOn(
      before.slice(0, 7) === twoBefore.slice(0, 7) ? monthBefore : read(twoBefore),
      twoBefore,
    );
    samples.push({ at: now, startMs, today, yesterday, dayBefore });
    if (samples.length > 400) samples.splice(0, 200);
    this.#samples.set(id, samples);
  }

  /** Whether that was so within so many ms; null while nothing is known. */
  isTrue(
    id: string,
    componentId: string,
    shown: Shown,
    windowMs: number,
    hasOtherDays: () => boolean,
  ): boolean | null {
    const samples = this.#samples.get(id);
    if (!samples) return null;
    const from = this.#now() - windowMs;
    const key = componentId === 'sensor_water_today' ? 'today' : 'yesterday';
    for (let index = samples.length - 1; index >= 0; index--) {
      const sample = samples[index];
      if (!sample || sample.at < from) break;
      if (sample[key] === shown) return true;
      // A new day has begun since then, by which what was of today is of yesterday.
      if (key === 'yesterday' && sample.today === shown) return true;
      const { startMs, today, yesterday, dayBefore } = sample;
      // A clock that is behind has not come to the midnight at which that was of the day before.
      if (shown === (key === 'today' ? yesterday : dayBefore) && startMs >= from) return true;
      // West of there it is still the day before.
      if ([today, yesterday, dayBefore].includes(Number(shown)) && hasOtherDays()) return true;
    }
    // Nothing is used on a day that has just begun.
    return shown === 0;
  }
}
