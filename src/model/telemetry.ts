import { isoFromUnixSeconds } from './calendar.ts';
import type { Telemetry } from './records.ts';

/** A measurement in the published units. */
export interface Measurement {
  readonly flowLMin: number | null;
  readonly pressureBar: number | null;
  readonly waterTemperatureC: number | null;
  /** When the device measured, as ISO 8601 in UTC. */
  readonly probedAt: string | null;
}

/** Converts the cloud's ml/min, mbar and Unix seconds into the published units. */
export function measurementOf(telemetry: Telemetry): Measurement {
  return {
    flowLMin: thousandth(telemetry.water_flow),
    pressureBar: thousandth(telemetry.pressure),
    waterTemperatureC: telemetry.water_temp,
    // A getter, because formatting the date takes longer than everything else here, and few callers need it.
    get probedAt() {
      return isoFromUnixSeconds(telemetry.probed_at);
    },
  };
}

/** How often a sonic at rest measures, in ms, according to the vendor's documentation of the hub's websocket. */
export const measuringIntervalMs = 60_000;

/** How far a device's clock may be ahead of the cloud's, in ms. */
const maxAheadMs = 5 * 60_000;

/**
 * How long ago the device measured, in ms. `now` is the time of the cloud's clock, in ms since 1970. A time in the
 * future is wrong, for example milliseconds in place of seconds. Then nobody knows when the device measured, and the
 * age is infinite. If the cloud gives no time, the measurement is as old as its reading, so the age is 0.
 */
export function measurementAgeMs({ probed_at: probedAt }: Telemetry, now: number): number {
  if (probedAt === null) return 0;
  const ageMs = now - probedAt * 1_000;
  return ageMs < -maxAheadMs ? Number.POSITIVE_INFINITY : Math.max(0, ageMs);
}

/** When the device measured that no water runs, in Unix seconds; null if water runs, or if the time is wrong. */
export function restedAt(telemetry: Telemetry, ageMs: number, now: number): number | null {
  const { water_flow: flow, probed_at: probedAt } = telemetry;
  if (flow !== 0 || !Number.isFinite(ageMs)) return null;
  return probedAt ?? Math.floor(now / 1_000);
}

/** The telemetry with its time, but without its values. */
export function withoutValues(telemetry: Telemetry): Telemetry {
  return { ...telemetry, pressure: null, water_flow: null, water_temp: null };
}

function thousandth(value: number | null): number | null {
  return value === null ? null : Math.round(value) / 1_000;
}
