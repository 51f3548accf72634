export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

const unitMs = { ms: 1, s: 1_000, m: minuteMs, h: hourMs } as const;

/** Reads a duration such as `500ms`, `30s`, `5m` or `1h` into ms; null for any other text. */
export function parseDuration(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text.trim());
  if (!match) return null;
  return Math.round(Number(match[1]) * unitMs[match[2] as keyof typeof unitMs]);
}

/** A duration in ms in the form that `parseDuration` reads, in the largest unit without a fraction. */
export function formatDuration(durationMs: number): string {
  const unit = (['h', 'm', 's'] as const).find((each) => durationMs % unitMs[each] === 0);
  return unit === undefined || durationMs === 0 ? `${durationMs}ms` : `${durationMs / unitMs[unit]}${unit}`;
}

/** A duration in ms for a log line: `850 ms`, `42 s`, `5 min`, `3 h`. */
export function describeDuration(durationMs: number): string {
  if (durationMs < 1_000) return `${Math.round(durationMs)} ms`;
  if (durationMs < 120_000) return `${Math.round(durationMs / 1_000)} s`;
  if (durationMs < 7_200_000) return `${Math.round(durationMs / minuteMs)} min`;
  return `${Math.round(durationMs / hourMs)} h`;
}
