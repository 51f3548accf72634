/** A poll: one part of the account that has its own schedule. */
interface PollRow {
  /** The name of its data for people. */
  readonly label: string;
  /** Whether it sends one request for each sonic. The others read whole lists. */
  readonly isBySonic?: true;
  /** Whether the bridge exists for its data: valve positions and leaks. */
  readonly isVital?: true;
}

/** In the order of `bridge/health`. The most important vital poll comes before the other. */
const rows = {
  properties: { label: 'properties' },
  signals: { label: 'hubs' },
  sonics: { label: 'valves', isVital: true },
  incidents: { label: 'incidents', isVital: true },
  telemetry: { label: 'measurements', isBySonic: true },
  usage: { label: 'water use', isBySonic: true },
  pressure_tests: { label: 'pressure tests', isBySonic: true },
} satisfies Record<string, PollRow>;

/** The name of a poll, which is also its name in the configuration. */
export type PollName = keyof typeof rows;

/** THE TABLE of all polls. */
export const pollTable: Readonly<Record<PollName, PollRow>> = rows;

export const pollNames = Object.keys(rows) as PollName[];
export const listPolls = pollNames.filter((poll) => !pollTable[poll].isBySonic);
export const sonicPolls = pollNames.filter((poll) => pollTable[poll].isBySonic);
/**
 * The polls for leaks and valves, which no budget and no error may stop. The first one decides whether data is fresh.
 */
export const vitalPolls = pollNames.filter((poll) => pollTable[poll].isVital);

export function byPoll<T>(make: (poll: PollName) => T): Record<PollName, T> {
  return Object.fromEntries(pollNames.map((poll) => [poll, make(poll)])) as Record<PollName, T>;
}
