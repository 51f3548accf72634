/** A poll: one part of the account that is read by a schedule of its own. */
interface PollRow {
  /** Its data, for people. */
  readonly label: string;
  /** Whether it sends one request for each sonic. The others read whole lists. */
  readonly isBySonic?: true;
  /** Whether the bridge exists for it: valve positions and leaks. */
  readonly isVital?: true;
}

/** The order is that of `bridge/health`. Of the vital polls the most important one comes first. */
const rows = {
  properties: { label: 'properties' },
  signals: { label: 'hubs' },
  sonics: { label: 'valves', isVital: true },
  incidents: { label: 'incidents', isVital: true },
  telemetry: { label: 'measurements', isBySonic: true },
  usage: { label: 'water use', isBySonic: true },
  pressure_tests: { label: 'pressure tests', isBySonic: true },
} satisfies Record<string, PollRow>;

/** The name of a poll, in the configuration too. */
export type PollName = keyof typeof rows;

/** THE TABLE of all polls. */
export const pollTable: Readonly<Record<PollName, PollRow>> = rows;

/** All polls, in the order of the table. */
export const pollNames = Object.keys(rows) as PollName[];
/** The polls that read lists. */
export const listPolls = pollNames.filter((poll) => !pollTable[poll].isBySonic);
/** The polls that send a request for each sonic. */
export const sonicPolls = pollNames.filter((poll) => pollTable[poll].isBySonic);
/** The polls that no limit and no error may stop: they show leaks and valves. The first one decides whether data is fresh. */
export const vitalPolls = pollNames.filter((poll) => pollTable[poll].isVital);

/** One value for each poll. */
export function byPoll<T>(make: (poll: PollName) => T): Record<PollName, T> {
  return Object.fromEntries(pollNames.map((poll) => [poll, make(poll)])) as Record<PollName, T>;
}
