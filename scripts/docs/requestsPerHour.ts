import { optionRows } from '../../src/config/schema.ts';
import { parseSchedule } from '../../src/config/values.ts';
import { type Load, requestsPerMinute } from '../../src/health/requestNeeds.ts';
import { type PollName, pollNames, pollTable } from '../../src/model/polls.ts';
import { table } from './markdown.ts';

/** What an account has; the open incidents are few enough for a page of their list. */
export type Fleet = Omit<Load, 'intervalMs'>;

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
  return 60 * requestsPerMinute(poll, { ...fleet, intervalMs }, { isOffered: () => true });
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
