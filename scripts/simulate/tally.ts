/** What simulated days had in them. */
export interface Tally {
  readonly days: number;
  readonly requests: number;
  readonly orders: number;
  readonly starts: number;
  readonly troubles: Readonly<Record<string, number>>;
  readonly checks: Readonly<Record<string, number>>;
}

/** A day, or a tally of several. */
interface Counted {
  readonly days?: number;
  readonly requests: number;
  readonly orders: number;
  readonly starts: number;
  readonly troubles: ReadonlyMap<string, number> | Readonly<Record<string, number>>;
  readonly checks: ReadonlyMap<string, number> | Readonly<Record<string, number>>;
}

/** Nothing yet. */
export function emptyTally(): Tally {
  return { days: 0, requests: 0, orders: 0, starts: 0, troubles: {}, checks: {} };
}

/** Both together. */
export function tallied(tally: Tally, day: Counted): Tally {
  return {
    days: tally.days + (day.days ?? 1),
    requests: tally.requests + day.requests,
    orders: tally.orders + day.orders,
    starts: tally.starts + day.starts,
    troubles: sum(tally.troubles, day.troubles),
    checks: sum(tally.checks, day.checks),
  };
}

function sum(counts: Readonly<Record<string, number>>, more: Counted['troubles']): Record<string, number> {
  const all = { ...counts };
  const entries = more instanceof Map ? [...more] : Object.entries(more);
  for (const [name, count] of entries) all[name] = (all[name] ?? 0) + count;
  return all;
}

/** The tally for people. */
export function inWords(tally: Tally, hours: number): string {
  const list = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .sort(([left], [right]) => left.localeCompare(right))
      .map(([name, count]) => `  ${String(count).padStart(9)}  ${name}`);
  return [
    `${tally.days} days of ${hours} h: ${tally.requests} requests, ${tally.orders} messages of people, ${tally.starts} starts`,
    'Troubles:',
    ...list(tally.troubles),
    'Checks:',
    ...list(tally.checks),
  ].join('\n');
}
