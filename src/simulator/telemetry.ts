import type { Telemetry } from '../model/records.ts';
import { seededRandom } from './random.ts';

/** What the reading of a sonic depends on. */
export interface Water {
  /** Gives each sonic its own house, pressure and habits. */
  readonly seed: number;
  /** When the reading was taken, in ms since 1970. */
  readonly probedAt: number;
  readonly valveIsOpen: boolean;
  /** Whether a leak or a forgotten tap lets water run all the time. */
  readonly isLeaking: boolean;
  /** How often a reading is taken. */
  readonly probeMs: number;
}

/** Water starts or stops running after so many readings. */
const probesPerHabit = 4;

/** When the newest reading was taken: once in `probeMs`, at another moment for each sonic. */
export function lastProbe(seed: number, now: number, probeMs: number): number {
  const offsetMs = seed % probeMs;
  return Math.floor((now - offsetMs) / probeMs) * probeMs + offsetMs;
}

/** A reading; the same for the same water. Behind a closed valve nothing flows and the pressure stays. */
export function reading({ seed, probedAt, valveIsOpen, isLeaking, probeMs }: Water): Telemetry {
  const house = seededRandom(seed);
  const restingMbar = 2_800 + house() * 800;
  const temperature = 9 + house() * 6;
  const habit = seededRandom(seed + Math.floor(probedAt / (probesPerHabit * probeMs)) * 31);
  const probe = seededRandom(seed + Math.floor(probedAt / probeMs) * 37);
  const runs = isLeaking || habit() < 0.25;
  const flow = valveIsOpen && runs ? 2_000 + habit() * 8_000 + probe() * 400 : 0;
  const drop = flow > 0 ? 150 + flow / 25 : 0;
  const wobble = valveIsOpen ? (probe() - 0.5) * 20 : 0;
  return {
    pressure: Math.round(restingMbar - drop + wobble),
    water_flow: Math.round(flow),
    water_temp: Math.round((temperature + (valveIsOpen ? probe() * 0.4 : 0)) * 10) / 10,
    probed_at: Math.floor(probedAt / 1_000),
  };
}
