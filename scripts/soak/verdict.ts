import { median } from '../measure/statistics.ts';
import type { Figures } from './look.ts';

/** The figures at the end of a round. */
export interface Round {
  readonly round: number;
  /** Since the bridge was started. */
  readonly atMs: number;
  /** Of the list of sonics, so far. */
  readonly polls: number;
  readonly figures: Figures;
}

/** How a figure went over the steady rounds. */
export interface Course {
  readonly first: number;
  readonly last: number;
  /** Of the line through all of them by least squares, per 1,000 polls. */
  readonly slope: number;
  /** From the first to the last, as a share of the first. */
  readonly growth: number;
  /** Whether it rises, beyond what chance makes of a figure that goes up and down. */
  readonly isRising: boolean;
}

/** What a soak comes to; null where there were too few rounds to judge. */
export interface Verdict {
  readonly isPassed: boolean | null;
  readonly complaints: readonly string[];
  /** Rounds that are not judged: code is still being compiled, and memory taken that is kept. */
  readonly warmUpRounds: number;
  readonly courses: Readonly<Record<string, Course>>;
}

/** Memory may grow so much, as a share. */
const mostGrowth = 0.05;
const warmUpShare = 0.2;
/** With fewer no rise could be told from chance. */
const fewestSteadyRounds = 8;
/** Deviations of Kendall's score that chance reaches once in a thousand runs. */
const scoreOfRise = 3;
/** The ends of a course are the medians of so many rounds. */
const roundsAtEnds = 3;

/** What may grow a little, and in which words. Buffers are not on the heap, but held by what is. */
const memory = { heapUsed: 'the heap', held: 'the heap with the buffers outside of it' } as const;

/** What must not grow at all, and in which words. */
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
} as const satisfies Partial<Record<keyof Figures, string>>;

/** What is told, and not judged: it is the runtime's to keep or to give back. */
const told = ['rss', 'external', 'arrayBuffers'] as const;

/** Judges the rounds of a soak. */
export function judge(rounds: readonly Round[], warnings: readonly string[] = []): Verdict {
  const warmUpRounds = Math.min(Math.ceil(rounds.length * warmUpShare), Math.max(0, rounds.length - 1));
  const steady = rounds.slice(warmUpRounds);
  const names: readonly Name[] = [...namesIn(memory), ...namesIn(counts), ...told];
  const courses = Object.fromEntries(names.map((name) => [name, courseOf(steady, name)]));
  const complaints = [
    ...namesIn(memory)
      .filter((name) => growthOf(courses[name]) > mostGrowth)
      .map((name) => `${memory[name]} grew by ${(growthOf(courses[name]) * 100).toFixed(1)} %`),
    ...namesIn(counts)
      .filter((name) => courses[name]?.isRising)
      .map((name) => `${counts[name]} grew: ${valuesOf(steady, name).join(', ')}`),
    ...new Set(warnings.map((warning) => `Node warned: ${warning}`)),
  ];
  const isEnough = steady.length >= fewestSteadyRounds;
  return { isPassed: isEnough ? complaints.length === 0 : null, complaints, warmUpRounds, courses };
}

type Name = keyof typeof memory | keyof typeof counts | (typeof told)[number];

function namesIn<Table extends object>(table: Table): (keyof Table)[] {
  return Object.keys(table) as (keyof Table)[];
}

function growthOf(course: Course | undefined): number {
  return course?.growth ?? 0;
}

function valuesOf(rounds: readonly Round[], name: Name): number[] {
  return rounds.map(({ figures }) =>
    name === 'held' ? figures.heapUsed + figures.external : (figures[name] ?? 0),
  );
}

function courseOf(rounds: readonly Round[], name: Name): Course {
  const values = valuesOf(rounds, name);
  const first = median(values.slice(0, roundsAtEnds));
  const last = median(values.slice(-roundsAtEnds));
  const slope = slopeOf(
    rounds.map(({ polls }) => polls / 1_000),
    values,
  );
  return { first, last, slope, growth: first === 0 ? 0 : (last - first) / first, isRising: isRising(values) };
}

/** Of the straight line through the points with the least squares of its errors. */
function slopeOf(xs: readonly number[], ys: readonly number[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [mean(xs), mean(ys)];
  const spread = xs.reduce((sum, x) => sum + (x - meanX) ** 2, 0);
  const shared = xs.reduce((sum, x, index) => sum + (x - meanX) * ((ys[index] ?? 0) - meanY), 0);
  return spread === 0 ? 0 : shared / spread;
}

/**
 * The test of Mann and Kendall: of all pairs of rounds, how many more rose than fell, against what chance would give.
 * It finds a small steady growth, and takes no noise or single step for one.
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
