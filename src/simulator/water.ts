import { dayMs } from '../base/duration.ts';
import type { DailyUsage, Telemetry } from '../model/records.ts';
import { localDayAt, localTime } from './localTime.ts';
import { seededRandom } from './random.ts';

/** After this many readings, water may start or stop running. */
const probesPerHabit = 4;

interface ReadingOptions {
  /** It gives each sonic its own pressure, temperature and habits. */
  readonly seed: number;
  /** When the reading was taken, in ms since 1970. */
  readonly probedAt: number;
  readonly valveIsOpen: boolean;
  /** Whether water runs all the time, because of a leak or a forgotten tap. */
  readonly isLeaking: boolean;
  /** Whether water runs; null if the habits of the household decide that. */
  readonly runs: boolean | null;
  /** The time between two readings, in ms. */
  readonly probeMs: number;
}

/** When the newest reading was taken. Readings are `probeMs` apart, and each sonic takes them at its own times. */
export function lastProbe(seed: number, now: number, probeMs: number): number {
  const offsetMs = seed % probeMs;
  return Math.floor((now - offsetMs) / probeMs) * probeMs + offsetMs;
}

/**
 * A reading. The same options give the same reading. Behind a closed valve, no water flows and the pressure stays the
 * same.
 */
export function probedReading(options: ReadingOptions): Telemetry {
  const { seed, probedAt, valveIsOpen, isLeaking, runs, probeMs } = options;
  const household = seededRandom(seed);
  const restingMbar = 2_800 + household() * 800;
  const temperature = 9 + household() * 6;
  const habit = seededRandom(seed + Math.floor(probedAt / (probesPerHabit * probeMs)) * 31);
  const probe = seededRandom(seed + Math.floor(probedAt / probeMs) * 37);
  const isRunning = isLeaking || (runs ?? habit() < 0.25);
  const flow = valveIsOpen && isRunning ? 2_000 + habit() * 8_000 + probe() * 400 : 0;
  const drop = flow > 0 ? 150 + flow / 25 : 0;
  const wobble = valveIsOpen ? (probe() - 0.5) * 20 : 0;
  return {
    pressure: Math.round(restingMbar - drop + wobble),
    water_flow: Math.round(flow),
    water_temp: Math.round((temperature + (valveIsOpen ? probe() * 0.4 : 0)) * 10) / 10,
    probed_at: Math.floor(probedAt / 1_000),
  };
}

export interface Household {
  /** It gives each sonic its own people and habits. */
  readonly seed: number;
  /** There is no water before this time (ISO 8601). If it is null, there always was. */
  readonly createdAt: string | null;
  readonly timeZone: string;
  /** Corrections of past days: litres by YYYY-MM-DD. */
  readonly corrections: ReadonlyMap<string, number>;
}

/** A month from 1 to 12. The default is the current month of the current year. */
export interface Month {
  readonly month?: number | undefined;
  readonly year?: number | undefined;
}

/** The litres of each day of a month up to now. Today's figure is still growing. */
export function dailyUsage(household: Household, now: number, of: Month = {}): DailyUsage {
  const { seed, createdAt, timeZone, corrections } = household;
  const { date: today, startMs, endMs } = localDayAt(now, timeZone);
  const created = createdAt === null ? '' : localTime(Date.parse(createdAt), timeZone).date;
  const { year = Number(today.slice(0, 4)), month = Number(today.slice(5, 7)) } = of;
  const daily: { date: string; liters: number }[] = [];
  for (let day = 1; day <= new Date(Date.UTC(year, month, 0)).getUTCDate(); day++) {
    const date = [year, ...[month, day].map((number) => String(number).padStart(2, '0'))].join('-');
    if (date > today) break;
    if (date < created) continue;
    const whole = litersOf(seed, date);
    const liters = date === today ? litersSoFar(whole, (now - startMs) / (endMs - startMs)) : whole;
    daily.push({ date, liters: corrections.get(date) ?? liters });
  }
  return { daily };
}

/** The litres of a whole day, to one decimal. They depend on the household, with more at weekends and few if it is away. */
function litersOf(seed: number, date: string): number {
  const household = seededRandom(seed);
  const day = seededRandom(seed + (Date.parse(date) / dayMs) * 41);
  const typical = 70 + household() * 230;
  const isWeekend = [0, 6].includes(new Date(date).getUTCDay());
  const isAway = day() < 0.04;
  return Math.round(typical * (0.7 + day() * 0.6) * (isWeekend ? 1.25 : 1) * (isAway ? 0.05 : 1) * 10) / 10;
}

/** How the water of a day is distributed over its 24 parts: little at night, most in the morning and in the evening. */
const habits = [1, 1, 1, 1, 1, 3, 9, 12, 9, 6, 5, 5, 6, 5, 4, 4, 5, 8, 10, 9, 7, 5, 3, 2];
const allHabits = habits.reduce((sum, each) => sum + each, 0);

/** The litres after a part (0 to 1) of a day, to one decimal. They never decrease during a day. */
function litersSoFar(liters: number, part: number): number {
  const hours = part * habits.length;
  const shares = habits.map((habit, hour) => habit * Math.min(1, Math.max(0, hours - hour)));
  const share = shares.reduce((sum, each) => sum + each, 0);
  return Math.floor((Math.round(liters * 10) * share) / allHabits) / 10;
}
