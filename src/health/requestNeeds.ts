import { describeDuration } from '../base/duration.ts';
import type { CloudClient } from '../cloud/client.ts';
import { deviceShare, readSlots } from '../cloud/requestQueue.ts';
import { type PollName, pollNames, pollTable } from '../model/polls.ts';

// How many requests the schedules need, and whether the budget and the cloud allow so many.

/** What decides how many requests the schedules need. */
export interface Load {
  readonly properties: number;
  readonly signals: number;
  readonly sonics: number;
  readonly intervalMs: (poll: PollName) => number;
}

type Offers = Pick<CloudClient, 'isOffered'>;

interface Needs {
  /** What `cloud.max_requests_per_minute` must be. Single devices may use only a share of it. */
  readonly perMinute: number;
  /** The poll that needs most of them. */
  readonly largest: PollName;
}

/** How many records the cloud sends on a page. */
const pageSize = 10;
const pages = (records: number) => Math.max(1, Math.ceil(records / pageSize));
/** Its signals, its settings, and its notification settings. */
const requestsOfProperty = 3;

/** THE TABLE of requests: those of one run of each poll. */
const requestsOfRun: Readonly<Record<PollName, (load: Load, client: Offers) => number>> = {
  // The status of each hub and the categories of appliances come with the properties.
  properties: ({ properties, signals }) => pages(properties) + requestsOfProperty * properties + signals + 1,
  signals: ({ signals }) => pages(signals),
  sonics: ({ sonics }) => pages(sonics),
  incidents: () => 1,
  telemetry: ({ sonics }, client) => (client.isOffered('read_telemetry') ? sonics : 0),
  usage: ({ sonics }, client) => (client.isOffered('read_daily_usage') ? sonics : 0),
  pressure_tests: ({ sonics }, client) => (client.isOffered('read_pressure_tests') ? sonics : 0),
};

/** The requests that a poll needs in a minute. */
export function requestsPerMinute(poll: PollName, load: Load, client: Offers): number {
  return (requestsOfRun[poll](load, client) * 60_000) / load.intervalMs(poll);
}

export function requestNeeds(load: Load, client: Offers): Needs {
  const perMinute = (poll: PollName) => requestsPerMinute(poll, load, client);
  const sumOf = (polls: readonly PollName[]) => polls.reduce((sum, poll) => sum + perMinute(poll), 0);
  const ofDevices = sumOf(pollNames.filter((poll) => pollTable[poll].isBySonic));
  const [largest = 'telemetry'] = pollNames.toSorted((one, other) => perMinute(other) - perMinute(one));
  return { perMinute: Math.ceil(Math.max(sumOf(pollNames), ofDevices / deviceShare)), largest };
}

/** Why the schedules cannot be kept; null if they can. `isLate`: a poll takes longer than its schedule allows. */
export function overload(load: Load, client: CloudClient, isLate: boolean): string | null {
  const { perMinute, largest } = requestNeeds(load, client);
  const { budget, meanMs } = client.traffic();
  const answered = Math.floor((readSlots(client.maxConcurrency) * 60_000) / meanMs);
  const isOverBudget = perMinute > budget;
  if (!isOverBudget && !(isLate && perMinute > answered)) return null;
  const option = isOverBudget ? 'cloud.max_requests_per_minute' : 'cloud.max_concurrency';
  const limit = isOverBudget
    ? `${option} allows ${budget}`
    : `the cloud answers about ${answered} (${(meanMs / 1_000).toFixed(1)} s each)`;
  const every = describeDuration((load.intervalMs(largest) * perMinute) / (isOverBudget ? budget : answered));
  return `The schedules need ${perMinute} requests per minute, and ${limit}. The ${pollTable[largest].label} are read about every ${every}. Increase ${option} or schedules.${largest}`;
}
