import type { Telemetry } from './records.ts';

/** A measurement in the units that are shown. */
export interface Measurement {
  readonly flowLMin: number | null;
  readonly pressureBar: number | null;
  readonly waterTemperatureC: number | null;
  /** When the device measured, ISO 8601 in UTC. */
  readonly probedAt: string | null;
}

/** The cloud's ml/min, mbar and Unix seconds (cloud facts 3) in the units that are shown. */
export function measurementOf(telemetry: Telemetry): Measurement {
  return {
    flowLMin: thousandth(telemetry.water_flow),
    pressureBar: thousandth(telemetry.pressure),
    waterTemperatureC: telemetry.water_temp,
    probedAt: isoFromUnixSeconds(telemetry.probed_at),
  };
}

/** A sonic measures about once a minute (cloud facts 3); a day is more than a clock in the wrong time zone is wrong. */
const outdatedAfterMs = 24 * 3_600_000;

/** Whether it was measured too long ago to pass for the present, however well it was delivered; `now` in ms since 1970. */
export function isOutdated({ probed_at: probedAt }: Telemetry, now: number): boolean {
  return probedAt !== null && probedAt > 0 && now - probedAt * 1_000 > outdatedAfterMs;
}

/** The telemetry with nothing in it but its time. */
export function withoutValues(telemetry: Telemetry): Telemetry {
  return { ...telemetry, pressure: null, water_flow: null, water_temp: null };
}

function thousandth(value: number | null): number | null {
  return value === null ? null : Math.round(value) / 1_000;
}

// Years of five digits, as milliseconds taken for seconds give, are read by few.
const endOfTime = Date.UTC(10_000, 0);

/** ISO 8601 of Unix seconds; null for null, 0 (the cloud's unknown) and what is no date. */
export function isoFromUnixSeconds(seconds: number | null): string | null {
  const isTime = seconds !== null && seconds > 0 && seconds * 1_000 < endOfTime;
  return isTime ? new Date(seconds * 1_000).toISOString() : null;
}
