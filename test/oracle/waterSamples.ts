import { isKnownTimezone, localDayAt, localTime } from '../../src/simulator/localTime.ts';
import type { World } from '../../src/simulator/world.ts';
import type { Shown } from './recordTruths.ts';

/** The water of a sonic in the cloud at one moment, in litres. */
interface Sample {
  readonly at: number;
  /** When the local day of the sample began. */
  readonly startMs: number;
  readonly today: number | null;
  readonly yesterday: number | null;
  readonly dayBefore: number | null;
}

/**
 * Whether an entity shows the water of a day. `WorldHistory` cannot judge these, because water grows without
 * a change of a record.
 */
export function isWaterUse(componentId: string): boolean {
  return componentId === 'sensor_water_today' || componentId === 'sensor_water_yesterday';
}

/**
 * The litres that the cloud reported, each time that the bridge asked. They grow all the time, so each answer
 * is kept.
 */
export class WaterSamples {
  readonly #samples = new Map<string, Sample[]>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * The bridge asks the cloud for the water of a sonic now. The sonic is in one of these time zones, as far
   * as the bridge may know.
   */
  take(world: World, id: string, timeZones: Iterable<string>): void {
    // An unknown time zone has no local day.
    for (const timeZone of timeZones) if (isKnownTimezone(timeZone)) this.#take(world, id, timeZone);
    // With several properties nobody can tell to which one a sonic on Wi-Fi belongs.
    if (world.wifiSonics.has(id) && world.properties.size > 1) this.#take(world, id, 'UTC');
  }

  #take(world: World, id: string, timeZone: string): void {
    const now = this.#now();
    const { date, startMs } = localDayAt(now, timeZone);
    // `localDayAt` keeps one day of each time zone, and is slow for another day. So `localTime` is used here.
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

  /** Whether a sample within that time agrees with the shown value. Null while there is no sample. */
  isTrue(
    id: string,
    componentId: string,
    shown: Shown,
    maxAgeMs: number,
    hasOtherDays: () => boolean,
  ): boolean | null {
    const samples = this.#samples.get(id);
    if (!samples) return null;
    const from = this.#now() - maxAgeMs;
    const key = componentId === 'sensor_water_today' ? 'today' : 'yesterday';
    for (let index = samples.length - 1; index >= 0; index--) {
      const sample = samples[index];
      if (!sample || sample.at < from) break;
      if (sample[key] === shown) return true;
      // If a new day has begun since then, today's water became yesterday's.
      if (key === 'yesterday' && sample.today === shown) return true;
      const { startMs, today, yesterday, dayBefore } = sample;
      // A bridge whose clock is behind is still in the day before.
      if (shown === (key === 'today' ? yesterday : dayBefore) && startMs >= from) return true;
      // In a time zone further west it is still the day before.
      if ([today, yesterday, dayBefore].includes(Number(shown)) && hasOtherDays()) return true;
    }
    // At the start of a day the usage is zero.
    return shown === 0;
  }
}
