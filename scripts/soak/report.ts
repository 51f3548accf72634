import type { BridgeLog } from './bridge.ts';
import type { Happened } from './house.ts';
import type { Tally } from './tally.ts';
import type { Round, Verdict } from './verdict.ts';
import type { Seen } from './watcher.ts';

/** All that a soak has shown. */
export interface Report {
  readonly node: string;
  readonly sonics: number;
  readonly seed: number;
  readonly durationMs: number;
  readonly cloud: Tally;
  readonly seen: Seen;
  readonly happened: Happened;
  readonly log: BridgeLog;
  readonly rounds: readonly Round[];
  readonly verdict: Verdict;
}

const megabytes = (bytes: number) => (bytes / 1_048_576).toFixed(2);

/** The head of the table of rounds. */
export const roundsHead = 'round  min  polls  heap MB  rss MB  handles  fds  timers  emitters  listeners';

/** A round as a line of the table. */
export function roundLine({ round, atMs, polls, figures }: Round): string {
  const { heapUsed, rss, handles, descriptors, timers, emitters } = figures;
  const listeners = figures.processListeners + figures.signalListeners + figures.socketListeners;
  return [
    `${round}`.padStart(5),
    (atMs / 60_000).toFixed(1).padStart(4),
    `${polls}`.padStart(6),
    megabytes(heapUsed).padStart(8),
    megabytes(rss).padStart(7),
    `${handles}`.padStart(8),
    `${descriptors ?? '-'}`.padStart(4),
    `${timers}`.padStart(7),
    `${emitters}`.padStart(9),
    `${listeners}`.padStart(10),
  ].join(' ');
}

/** What a soak came to, for people. */
export function summary(report: Report): string[] {
  const { cloud, seen, happened, log, verdict } = report;
  return [
    `${report.sonics} sonics, seed ${report.seed}, Node ${report.node}, Mosquitto, ${(report.durationMs / 60_000).toFixed(1)} minutes`,
    `Polls      ${told(cloud.polls)}`,
    `Requests   ${cloud.requests}, answered well: ${cloud.answered}`,
    `Messages   ${seen.messages}; events: ${told(seen.events)}`,
    `Troubles   ${told(happened.troubles)}`,
    `Commands   ${happened.commands}, unheard: ${happened.unheard}; ends: ${told(seen.outcomes)}`,
    `Log lines  ${told(log.lines)}`,
    ...log.errors.map((line) => `           ${line.slice(0, 300)}`),
    `Heap       ${course(verdict, 'heapUsed')}`,
    `and beside ${course(verdict, 'held')}, with the buffers outside of it`,
    ...verdict.complaints.map((words) => `Complaint  ${words}`),
    `Verdict    ${words(verdict)}`,
  ];
}

function course({ courses, warmUpRounds }: Verdict, name: string): string {
  const { first = 0, last = 0, growth = 0, slope = 0 } = courses[name] ?? {};
  const begun = `${megabytes(first)} MB after ${warmUpRounds} rounds`;
  const grown = `${(growth * 100).toFixed(2)} %, ${megabytes(slope)} MB per 1,000 polls`;
  return `${begun}, ${megabytes(last)} MB in the end: ${grown}`;
}

function words({ isPassed }: Verdict): string {
  if (isPassed === null) return 'too few rounds to judge';
  return isPassed ? 'passed: nothing grows' : 'failed';
}

function told(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}
