import type { DailyUsage } from '../model/records.ts';
import { seededRandom } from './random.ts';
import { dayAt, type LocalDay, localTime } from './zone.ts';

const dayMs = 24 * 60 * 60 * 1_000;

/** What decides how much water runs through a sonic. */
export interface Household {
  /** Gives each sonic its own people and habits. */
  readonly seed: number;
  /** ISO 8601: there is no water before it; null is always. */
  readonly createdAt: string | null;
  readonly timeZone: string;
  /** What days that are over were corrected to, in litres by YYYY-MM-DD. */
  readonly corrections: ReadonlyMap<string, number>;
}

/** The month to be told of, 1 to 12; the present one, of the present year, unless given. */
export interface Month {
  readonly month?: number | undefined;
  readonly year?: number | undefined;
}

/** What ran on each day of a month up to now; the present day's figure is still growing. */
export function dailyUsage(household: Household, now: number, asked: Month = {}): DailyUsage {
  const { seed, createdAt, timeZone, corrections } = household;
  const present = dayAt(now, timeZone);
  const today = present.date;
  const created = createdAt === null ? '' : localTime(Date.parse(createdAt), timeZone).date;
  const { year = Number(today.slice(0, 4)), month = Number(today.slice(5, 7)) } = asked;
  const daily: { date: string; liters: number }[] = [];
  for (let day = 1; day <= daysOf(year, month); day++) {
    const date = [year, digits(month), digits(day)].join('-');
    if (date > today) break;
    if (date < created) continue;
    const whole = litersOf(seed, date);
    const liters = date === today ? litersSoFar(whole, partOf(present, now)) : whole;
    daily.push({ date, liters: corrections.get(date) ?? liters });
  }
  return { daily };
}

function daysOf(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

function digits(number: number): string {
  return String(number).padStart(2, '0');
}

/** Litres of a whole day, to one decimal: the household's own, more at weekends, hardly any while it is away. */
function litersOf(seed: number, date: string): number {
  const dayNumber = Date.parse(date) / dayMs;
  const household = seededRandom(seed);
  const day = seededRandom(seed + dayNumber * 41);
  const typical = 70 + household() * 230;
  const weekday = new Date(date).getUTCDay();
  const isWeekend = weekday === 0 || weekday === 6;
  const isAway = day() < 0.04;
  return Math.round(typical * (0.7 + day() * 0.6) * (isWeekend ? 1.25 : 1) * (isAway ? 0.05 : 1) * 10) / 10;
}

/** How the water of a day spreads over its 24 parts: little at night, most in the morning and the evening. */
const habits = [1, 1, 1, 1, 1, 3, 9, 12, 9, 6, 5, 5, 6, 5, 4, 4, 5, 8, 10, 9, 7, 5, 3, 2];
const allHabits = habits.reduce((sum, each) => sum + each, 0);

/** Litres of a day of which the given part (0 to 1) is over, to one decimal; never less than at an earlier moment. */
function litersSoFar(liters: number, part: number): number {
  const hours = part * habits.length;
  let share = 0;
  for (const [hour, habit] of habits.entries()) share += habit * Math.min(1, Math.max(0, hours - hour));
  return Math.floor((Math.round(liters * 10) * share) / allHabits) / 10;
}

/** How much of a day is over. */
function partOf({ startMs, endMs }: LocalDay, now: number): number {
  return (now - startMs) / (endMs - startMs);
}
