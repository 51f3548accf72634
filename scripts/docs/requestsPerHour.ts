import { optionRows } from '../../src/config/schema.ts';
import { parseSchedule } from '../../src/config/values.ts';
import { table } from './markdown.ts';

/** What an account has; the signals and the open incidents are few enough for a page of their list each. */
export interface Fleet {
  readonly properties: number;
  readonly signals: number;
  readonly sonics: number;
}

/** The fleets of docs/internals/performance.md. */
const fleets: readonly Fleet[] = [
  { properties: 1, signals: 1, sonics: 1 },
  { properties: 2, signals: 3, sonics: 10 },
  { properties: 20, signals: 30, sonics: 100 },
];

const hourMs = 3_600_000;
const pageSize = 10;
const hoursADay = 24;

/** An empty list has a page too. */
const pages = (records: number) => Math.max(1, Math.ceil(records / pageSize));

function textOf(option: string): string {
  return String(optionRows.find(({ path }) => path === option)?.default);
}

/** From one poll to the next, in ms, unless the configuration says otherwise. */
function periodMs(poll: string): number {
  const schedule = parseSchedule(textOf(`schedules.${poll}`));
  if (schedule?.kind !== 'every') throw new Error(`schedules.${poll} has no period by default`);
  return schedule.everyMs;
}

/** Requests an hour by the default schedules, by what they are for. */
function requestsPerHour({ properties, signals, sonics }: Fleet): Record<string, number> {
  const perHour = (poll: string) => hourMs / periodMs(poll);
  const perProperty = ['settings', 'notification settings', 'its signals'].length;
  // A new day is read as soon as it begins, and with its first reading the month before.
  const usageOfADay = hoursADay * perHour('usage') + 2;
  return {
    'the open incidents': perHour('incidents'),
    'the list of sonics': perHour('sonics') * pages(sonics),
    'the list of signals': perHour('signals') * pages(signals),
    telemetry: perHour('telemetry') * sonics,
    'usage and pressure tests': sonics * (usageOfADay / hoursADay + perHour('pressure_tests')),
    // The hubs and the categories of appliances come with them.
    'properties and hubs':
      perHour('properties') * (pages(properties) + perProperty * properties + signals + 1),
  };
}

/** All of them. */
export function totalPerHour(fleet: Fleet): number {
  return Object.values(requestsPerHour(fleet)).reduce((sum, each) => sum + each, 0);
}

const figure = (requests: number) => Math.round(requests).toLocaleString('en');

/** The table of requests by the size of the fleet, for docs/internals/performance.md. */
export function requestsTable(): string {
  const parts = fleets.map(requestsPerHour);
  const kinds = Object.keys(parts[0] ?? {});
  return table(
    ['Requests an hour', ...fleets.map(({ sonics }) => (sonics === 1 ? '1 sonic' : `${sonics} sonics`))],
    [
      ...kinds.map((kind) => [kind, ...parts.map((part) => figure(part[kind] ?? 0))]),
      ['in total', ...fleets.map((fleet) => figure(totalPerHour(fleet)))],
      [
        'properties, and signals (hubs)',
        ...fleets.map(({ properties, signals }) => `${properties}, ${signals}`),
      ],
    ],
  );
}
