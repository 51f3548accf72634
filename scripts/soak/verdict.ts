import { median } from '../measure/statistics.ts';

/** Memory may grow by a twentieth: the heap, and with it the buffers outside of the heap. */
const memory = { heapUsed: 'the heap', held: 'the heap with the buffers outside of it' } as const;

/** These must not grow at all. */
const counts = {
  handles: 'active handles',
  descriptors: 'open file descriptors',
  timers: 'timers',
  emitters: 'event emitters',
  signals: 'abort signals',
  promises: 'promises',
  processListeners: 'listeners of the process',
  signalListeners: 'listeners of abort signals',
  socketListeners: 'listeners of sockets',
} as const;

type Counted = keyof typeof counts;

/** What the process of the bridge holds, in bytes and numbers. Resident memory is shown, but the runtime decides on it. */
export type Figures = Readonly<Record<keyof typeof memory | Counted | 'rss', number>>;

/** The figures at the end of a round. */
export interface Round {
  readonly round: number;
  /** Since the bridge was started. */
  readonly atMs: number;
  /** Reads of the list of sonics so far. */
  readonly polls: number;
  readonly figures: Figures;
}

export interface Verdict {
  /** Null after too few rounds. */
  readonly isPassed: boolean | null;
  readonly complaints: readonly string[];
}

const mostGrowth = 0.05;
/** The first rounds are not judged: code is still being compiled. */
const warmUpShare = 0.2;
/** With fewer, a rise could be chance. */
const fewestSteadyRounds = 8;
/** The start and the end of a figure are medians of so many rounds. */
const roundsAtEnds = 3;
/** Chance reaches so many deviations of Kendall's score once in a thousand runs. */
const scoreOfRise = 3;

export function judge(rounds: readonly Round[], warnings: readonly string[] = []): Verdict {
  const steady = rounds.slice(Math.ceil(rounds.length * warmUpShare));
  const valuesOf = (name: keyof Figures) => steady.map(({ figures }) => figures[name]);
  const grown = entriesOf(memory).flatMap(([name, words]) => {
    const growth = growthOf(valuesOf(name));
    return growth > mostGrowth ? [`${words} grew by ${(growth * 100).toFixed(1)} %`] : [];
  });
  const risen = entriesOf(counts).flatMap(([name, words]) =>
    isRising(valuesOf(name)) ? [`${words} grew: ${valuesOf(name).join(', ')}`] : [],
  );
  const warned = [...new Set(warnings)].map((warning) => `Node.js warned: ${warning}`);
  const complaints = [...grown, ...risen, ...warned];
  const isPassed = steady.length < fewestSteadyRounds ? null : complaints.length === 0;
  return { isPassed, complaints };
}

function entriesOf<Name extends string>(table: Readonly<Record<Name, string>>): [Name, string][] {
  return Object.entries(table) as [Name, string][];
}

/** From the first to the last, as a share of the first. */
function growthOf(values: readonly number[]): number {
  const first = median(values.slice(0, roundsAtEnds));
  return first === 0 ? 0 : median(values.slice(-roundsAtEnds)) / first - 1;
}

/**
 * The test of Mann and Kendall: of all pairs of rounds, how many more rose than fell, compared with chance.
 * It finds a small steady growth, and neither noise nor a single step passes for one.
 */
function isRising(values: readonly number[]): boolean {
  const count = values.length;
  let score = 0;
  for (const [index, value] of values.entries()) {
    for (const later of values.slice(index + 1)) score += Math.sign(later - value);
  }
  const deviation = Math.sqrt((count * (count - 1) * (2 * count + 5)) / 18);
  return count > 1 && (score - 1) / deviation > scoreOfRise;
}

const columns = ['handles', 'descriptors', 'timers', 'emitters', 'signals', 'promises'] as const;

export const roundsHead = ['round', 'min', 'polls', 'heap MB', 'rss MB', ...columns].join('  ');

/** A round as a line below the head. */
export function roundLine({ round, atMs, polls, figures }: Round): string {
  const megabytes = (bytes: number) => (bytes / 1_048_576).toFixed(2);
  const { heapUsed, rss } = figures;
  const start = [`${round}`, (atMs / 60_000).toFixed(1), `${polls}`, megabytes(heapUsed), megabytes(rss)];
  const cells = [...start, ...columns.map((name) => `${figures[name]}`)];
  const widths = roundsHead.split(/ {2}/).map((word) => word.length);
  return cells.map((cell, index) => cell.padStart(widths[index] ?? 0)).join('  ');
}
