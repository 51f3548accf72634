import { setTimeout as passed } from 'node:timers/promises';
import { dayMs, hourMs } from '../base/duration.ts';
import { isTree, type Tree } from '../config/tree.ts';
import type { Topics } from '../homeassistant/topics.ts';
import { type DaysOfUsage, hoursBefore, type Joint } from '../model/usageHistory.ts';
import { HomeAssistantError, type HomeAssistantSocket } from './homeAssistantSocket.ts';
import type { FoundValve } from './valveHistory.ts';

/**
 * Home Assistant shows the first sum of a statistic as the use of its hour. So the sum before the first imported day gets
 * an hour of its own, long ago. It also marks that days were imported.
 */
const anchorMs = Date.UTC(2000, 0);

/** Home Assistant keeps short-term statistics for ten days. */
const shortTermMs = 11 * dayMs;

/** How many hours are in a message: four years. Home Assistant accepts messages of up to 4 MB. */
const maxHoursPerMessage = 40_000;

/** Litres in each unit. Home Assistant may convert the litres, and keeps the first unit of a statistic. */
const litersPerUnit: Readonly<Record<string, number>> = {
  L: 1,
  mL: 0.001,
  'm³': 1_000,
  'ft³': 28.316846592,
  CCF: 2_831.6846592,
  MCF: 28_316.846592,
  gal: 3.785411784,
  'fl. oz.': 0.0295735295625,
};

const writtenWithinMs = 600_000;

export interface WaterTotal {
  readonly entityId: string;
  readonly todayId: string | undefined;
}

/** The *Water total* entities of this bridge, by valve. */
export async function readWaterTotals(
  home: HomeAssistantSocket,
  topics: Topics,
): Promise<ReadonlyMap<string, WaterTotal>> {
  const registered = new Map<unknown, string>();
  for (const entry of trees(await home.ask('config/entity_registry/list'))) {
    if (entry['platform'] === 'mqtt') registered.set(entry['unique_id'], String(entry['entity_id']));
  }
  const totals = new Map<string, WaterTotal>();
  const start = topics.identifier('sonic', '');
  const end = '_water_total';
  for (const [uniqueId, entityId] of registered) {
    if (typeof uniqueId !== 'string' || !uniqueId.startsWith(start) || !uniqueId.endsWith(end)) continue;
    const id = uniqueId.slice(start.length, -end.length);
    totals.set(id, { entityId, todayId: registered.get(`${start}${id}_water_today`) });
  }
  return totals;
}

export async function importDays(
  home: HomeAssistantSocket,
  total: WaterTotal,
  { timezone }: Pick<FoundValve, 'timezone'>,
  days: DaysOfUsage,
  nowMs: number,
): Promise<readonly string[]> {
  const { entityId } = total;
  const joint = await readJoint(home, total, nowMs);
  const { hours, dates, beforeL } = hoursBefore(joint, days, timezone);
  if (hours.length === 0) return [];
  const unit = await readUnit(home, entityId);
  // The latest hours come first, each time with the sum before them. So if the import is interrupted, the next one can
  // go on.
  for (let end = hours.length; end > 0; end -= maxHoursPerMessage) {
    const start = Math.max(0, end - maxHoursPerMessage);
    const anchor = { startMs: anchorMs, sumL: hours[start - 1]?.sumL ?? beforeL };
    await sendStatistics(home, entityId, unit, [anchor, ...hours.slice(start, end)]);
  }
  await untilWritten(home, entityId, beforeL);
  return dates;
}

async function readJoint(home: HomeAssistantSocket, total: WaterTotal, nowMs: number): Promise<Joint> {
  const { entityId, todayId } = total;
  const anchorL = await readAnchor(home, entityId);
  const read = (period: string, fromMs: number, toMs: number, id: string | undefined = entityId) =>
    id === undefined ? Promise.resolve([]) : readStatistics(home, id, period, fromMs, toMs);
  const [month] = await read('month', anchorMs + hourMs, nowMs);
  const [hour] = month ? await read('hour', month.startMs, month.startMs + 32 * dayMs) : [];
  if (hour && anchorL !== null) {
    return { atMs: hour.startMs, sumL: anchorL, sameDayL: null, isImported: true };
  }
  const [first] = hour ? [hour] : await read('5minute', nowMs - shortTermMs, nowMs);
  // There are no statistics yet. The first hour will begin at 0.
  if (!first) return { atMs: fullHourBefore(nowMs), sumL: 0, sameDayL: null, isImported: false };
  const period = hour ? 'hour' : '5minute';
  const [today] = await read(period, first.startMs, first.startMs + hourMs, todayId);
  const isSame = today?.startMs === first.startMs && today.stateL !== null && first.sumL !== null;
  const sameDayL = isSame ? Math.max(0, (today.stateL ?? 0) - (first.sumL ?? 0)) : null;
  return { atMs: fullHourBefore(first.startMs), sumL: 0, sameDayL, isImported: false };
}

/** The sum before all that was imported; null if nothing was. */
export async function readAnchor(home: HomeAssistantSocket, entityId: string): Promise<number | null> {
  const [anchor] = await readStatistics(home, entityId, 'hour', anchorMs, anchorMs + hourMs);
  return anchor?.startMs === anchorMs ? anchor.sumL : null;
}

interface Statistic {
  readonly startMs: number;
  readonly sumL: number | null;
  readonly stateL: number | null;
}

async function readStatistics(
  home: HomeAssistantSocket,
  entityId: string,
  period: string,
  fromMs: number,
  toMs: number,
): Promise<readonly Statistic[]> {
  const answer = await home.ask('recorder/statistics_during_period', {
    ...{ start_time: iso(fromMs), end_time: iso(toMs), statistic_ids: [entityId], period },
    ...{ types: ['sum', 'state'], units: { volume: 'L' } },
  });
  return trees(isTree(answer) ? answer[entityId] : []).map(({ start, sum, state }) => ({
    startMs: Number(start),
    sumL: typeof sum === 'number' ? sum : null,
    stateL: typeof state === 'number' ? state : null,
  }));
}

async function readUnit(home: HomeAssistantSocket, entityId: string): Promise<string> {
  const [about] = trees(await home.ask('recorder/get_statistics_metadata', { statistic_ids: [entityId] }));
  const unit = String(about?.['statistics_unit_of_measurement'] ?? 'L');
  if (unit in litersPerUnit) return unit;
  throw new Error(`Home Assistant keeps ${entityId} in ${unit}, which is not known here`);
}

async function sendStatistics(
  home: HomeAssistantSocket,
  entityId: string,
  unit: string,
  hours: readonly { readonly startMs: number; readonly sumL: number }[],
): Promise<void> {
  const factor = litersPerUnit[unit] ?? 1;
  const stats = hours.map(({ startMs, sumL }) => ({ start: iso(startMs), sum: sumL / factor }));
  const about = { statistic_id: entityId, unit_of_measurement: unit, source: 'recorder', name: null };
  const metadata = { ...about, has_mean: false, has_sum: true };
  const command = 'recorder/import_statistics';
  try {
    await home.ask(command, { metadata: { ...metadata, mean_type: 0, unit_class: 'volume' }, stats });
  } catch (error) {
    // Home Assistant before 2025.11 does not know the newer fields.
    if (!(error instanceof HomeAssistantError) || error.code !== 'invalid_format') throw error;
    await home.ask(command, { metadata, stats });
  }
}

/** Home Assistant answers before its recorder has written anything. */
async function untilWritten(home: HomeAssistantSocket, entityId: string, beforeL: number): Promise<void> {
  const deadline = performance.now() + writtenWithinMs;
  while (performance.now() < deadline) {
    const anchorL = await readAnchor(home, entityId);
    if (anchorL !== null && Math.abs(anchorL - beforeL) < 0.001) return;
    await passed(500);
  }
  throw new Error(`Home Assistant has not written the days of ${entityId}. See its log`);
}

const iso = (ms: number) => new Date(ms).toISOString();

function fullHourBefore(ms: number): number {
  return Math.floor(ms / hourMs) * hourMs;
}

function trees(value: unknown): readonly Tree[] {
  return Array.isArray(value) ? value.filter(isTree) : [];
}
