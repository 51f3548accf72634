import type { DailyUsage, Telemetry } from '../model/records.ts';
import { localDayAt, localTime } from './localTime.ts';
import { seededRandom } from './random.ts';

const dayMs = 24 * 60 * 60 * 1_000;

/** Water starts or stops running after so many readings. */
const probesPerHabit = 4;

/** What a reading of a sonic depends on. */
interface ReadingOptions {
  /** Gives each sonic its own pressure, temperature and habits. */
  readonly seed: number;
  /** When the reading was taken, in ms since 1970. */
  readonly probedAt: number;
  readonly valveIsOpen: boolean;
  /** Whether a leak or a forgotten tap lets water run all the time. */
  readonly isLeaking: boolean;
  /** Whether water runs; null if the habits of the household decide. */
  readonly runs: boolean | null;
  /** How often a reading is taken. */
  readonly probeMs: number;
}

/** When the newest reading was taken: once in `probeMs`, at another moment for each sonic. */
export function lastProbe(seed: number, now: number, probeMs: number): number {
  const offsetMs = seed % probeMs;
  return Math.floor((now - offsetMs) / probeMs) * probeMs + offsetMs;
}

/** A reading; the same for the same options. Behind a closed valve nothing flows and the pressure stays. */
export function probedReading({
  seed,
  probedAt,
  valveIsOpen,
  isLeaking,
  runs,
  probeMs,
}: ReadingOptions): Telemetry {
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

/** A month, 1 to 12; the present one, of the present year, unless given. */
export interface Month {
  readonly month?: number | undefined;
  readonly year?: number | undefined;
}

/** What ran on each day of a month up to now; the present day's figure is still growing. */
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

/** Litres of a whole day, to one decimal: the household's own, more at weekends, hardly any while it is away. */
function litersOf(seed: number, date: string): number {
  const household = seededRandom(seed);
  const day = seededRandom(seed + (Date.parse(date) / dayMs) * 41);
  const typical = 70 + household() * 230;
  const isWeekend = [0, 6].includes(new Date(date).getUTCDay());
  const isAway = day() < 0.04;
  return Math.round(typical * (0.7 + day() * 0.6) * (isWeekend ? 1.25 : 1) * (isAway ? 0.05 : 1) * 10) / 10;
}

/** How the water of a day spreads over its 24 parts: little at night, most in the morning and the evening. */
const habits = [1, 1, 1, 1, 1, 3, 9, 12, 9, 6, 5, 5, 6, 5, 4, 4, 5, 8, 10, 9, 7, 5, 3, 2];
const allHabits = habits.reduce((sum, each) => sum + each, 0);

/** Litres of a day of which the given part (0 to 1) is over, to one decimal; never less than at an earlier moment. */
function litersSoFar(liters: number, part: number): number {
  const hours = part * habits.length;
  const shares = habits.map((habit, hour) => habit * Math.min(1, Math.max(0, hours - hour)));
  const share = shares.reduce((sum, each) => sum + each, 0);
  return Math.floor((Math.round(liters * 10) * share) / allHabits) / 10;
}
