import { optionRows } from '../../src/config/schema.ts';
import { parseSchedule } from '../../src/config/values.ts';
import { type PollName, pollNames, pollTable } from '../../src/model/polls.ts';
import { table } from './markdown.ts';

/** What an account has; the open incidents are few enough for a page of their list. */
export interface Fleet {
  readonly properties: number;
  readonly signals: number;
  readonly sonics: number;
}

/** How many records the cloud sends on a page. */
const pageSize = 10;
const pages = (records: number) => Math.max(1, Math.ceil(records / pageSize));
/** Its signals, its settings, and its notification settings. */
const requestsOfProperty = 3;

/** The requests of one run of each poll. */
const requestsOfRun: Readonly<Record<PollName, (fleet: Fleet) => number>> = {
  // The status of each hub and the categories of appliances come with the properties.
  properties: ({ properties, signals }) => pages(properties) + requestsOfProperty * properties + signals + 1,
  signals: ({ signals }) => pages(signals),
  sonics: ({ sonics }) => pages(sonics),
  incidents: () => 1,
  telemetry: ({ sonics }) => sonics,
  usage: ({ sonics }) => sonics,
  pressure_tests: ({ sonics }) => sonics,
};

/** The fleets of docs/internals/performance.md. */
const fleets: readonly Fleet[] = [
  { properties: 1, signals: 1, sonics: 1 },
  { properties: 2, signals: 3, sonics: 10 },
  { properties: 20, signals: 30, sonics: 100 },
];

/** From one poll to the next, in ms, unless the configuration says otherwise. */
function intervalMs(poll: PollName): number {
  const text = optionRows.find(({ path }) => path === `schedules.${poll}`)?.default;
  const schedule = parseSchedule(String(text));
  if (schedule?.kind !== 'every') throw new Error(`schedules.${poll} has no period by default`);
  return schedule.everyMs;
}

/** The requests of a poll in an hour by the default schedules. */
function perHour(poll: PollName, fleet: Fleet): number {
  return (requestsOfRun[poll](fleet) * 3_600_000) / intervalMs(poll);
}

/** All of them. */
export function totalPerHour(fleet: Fleet): number {
  return pollNames.reduce((sum, poll) => sum + perHour(poll, fleet), 0);
}

const figure = (requests: number) => Math.round(requests).toLocaleString('en');

/** The table of requests by the size of the fleet, for docs/internals/performance.md. */
export function requestsTable(): string {
  return table(
    ['Requests an hour', ...fleets.map(({ sonics }) => (sonics === 1 ? '1 sonic' : `${sonics} sonics`))],
    [
      ...pollNames.map((poll) => [
        pollTable[poll].label,
        ...fleets.map((fleet) => figure(perHour(poll, fleet))),
      ]),
      ['in total', ...fleets.map((fleet) => figure(totalPerHour(fleet)))],
      [
        'properties, and signals (hubs)',
        ...fleets.map(({ properties, signals }) => `${properties}, ${signals}`),
      ],
    ],
  );
}
