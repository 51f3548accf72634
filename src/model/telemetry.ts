import { isoFromUnixSeconds } from './calendar.ts';
import type { Telemetry } from './records.ts';

/** A measurement in the units that are shown. */
export interface Measurement {
  readonly flowLMin: number | null;
  readonly pressureBar: number | null;
  readonly waterTemperatureC: number | null;
  /** When the device measured, ISO 8601 in UTC. */
  readonly probedAt: string | null;
}

/** The cloud's ml/min, mbar and Unix seconds in the units that are shown. */
export function measurementOf(telemetry: Telemetry): Measurement {
  return {
    flowLMin: thousandth(telemetry.water_flow),
    pressureBar: thousandth(telemetry.pressure),
    waterTemperatureC: telemetry.water_temp,
    // To write a date takes longer than all else here, and few ask for it.
    get probedAt() {
      return isoFromUnixSeconds(telemetry.probed_at);
    },
  };
}

/** A sonic at rest measures about once a minute, by the vendor's documentation of the hub's websocket. */
export const measuringIntervalMs = 60_000;

/** How far the clocks of a device and of the cloud may differ. */
const maxAheadMs = 5 * 60_000;

/**
 * How long ago the device measured, in ms, when the cloud's clock shows `now`, in ms since 1970. A time that is still
 * to come is wrong, as milliseconds are that are taken for seconds: nobody knows when that was, so it is no measurement
 * of the present, and infinitely old. Where the cloud gives no time, the measurement is as old as its reading: 0.
 */
export function measurementAgeMs({ probed_at: probedAt }: Telemetry, now: number): number {
  if (probedAt === null) return 0;
  const ageMs = now - probedAt * 1_000;
  return ageMs < -maxAheadMs ? Number.POSITIVE_INFINITY : Math.max(0, ageMs);
}

/** When the device measured that no water runs, in Unix seconds; null if some runs, or the time is wrong. */
export function restedAt(telemetry: Telemetry, ageMs: number, now: number): number | null {
  const { water_flow: flow, probed_at: probedAt } = telemetry;
  if (flow !== 0 || !Number.isFinite(ageMs)) return null;
  return probedAt ?? Math.floor(now / 1_000);
}

/** The telemetry with nothing in it but its time. */
export function withoutValues(telemetry: Telemetry): Telemetry {
  return { ...telemetry, pressure: null, water_flow: null, water_temp: null };
}

function thousandth(value: number | null): number | null {
  return value === null ? null : Math.round(value) / 1_000;
}
