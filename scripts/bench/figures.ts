import { median } from '../measure/statistics.ts';

/** What a figure should be at most. */
export interface Target {
  /** The bridge's median divided by that of the raw loop, the difference between the two, or the bridge's alone. */
  readonly by: 'ratio' | 'difference' | 'value';
  readonly most: number;
}

/** A value for each run of the bridge, and of the raw loop in turn with it. */
export interface Figure {
  readonly story: string;
  readonly sonics: number;
  readonly what: string;
  readonly unit: string;
  readonly bridge: readonly number[];
  /** Null if there is nothing to compare with. */
  readonly raw: readonly number[] | null;
  readonly target: Target | null;
}

/** All that a run of the benchmark has shown. */
export interface Report {
  readonly at: string;
  readonly node: string;
  readonly processor: string;
  readonly figures: readonly Figure[];
}

/** The bridge's median divided by that of the raw loop; null if there is none. */
function ratioOf({ bridge, raw }: Figure): number | null {
  const yardstick = raw === null ? 0 : median(raw);
  return yardstick > 0 ? median(bridge) / yardstick : null;
}

/** Whether the target was met; null if there is none, or nothing to judge by it. */
function isMet(figure: Figure): boolean | null {
  const { bridge, raw, target } = figure;
  if (target === null || bridge.length === 0) return null;
  let judged: number | null = median(bridge);
  if (target.by === 'ratio') judged = ratioOf(figure);
  if (target.by === 'difference') judged = raw === null ? null : median(bridge) - median(raw);
  return judged === null ? null : judged <= target.most;
}

const head = ['story', 'sonics', 'figure', 'bridge', 'raw loop', 'ratio', 'recorded', 'target', ''];

/**
 * The figures as a table, with the smallest and largest value beside each median. `recorded` are the figures of an earlier
 * run, maybe on another computer: only ratios to the raw loop are compared.
 */
export function tableOf(figures: readonly Figure[], recorded: readonly Figure[]): string[] {
  const rows = [head, ...figures.map((figure) => rowOf(figure, recorded))];
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
  return rows.map((row) => line(row).join('  ').trimEnd());
}

function rowOf(figure: Figure, recorded: readonly Figure[]): string[] {
  const { story, sonics, what, bridge, raw, unit, target } = figure;
  const ratio = ratioOf(figure);
  const met = isMet(figure);
  const isSame = (each: Figure) => each.story === story && each.sonics === sonics && each.what === what;
  const before = recorded.filter(isSame).map(ratioOf)[0] ?? null;
  return [
    story,
    `${sonics}`,
    what,
    words(bridge, unit),
    raw === null ? '' : words(raw, unit),
    ratio === null ? '' : ratio.toFixed(2),
    ratio === null || before === null ? '' : `${before.toFixed(2)} (${change(ratio / before)})`,
    target === null ? '' : targetWords(target, unit),
    met === null ? '' : met ? 'met' : 'MISSED',
  ];
}

function words(values: readonly number[], unit: string): string {
  const range = `${short(Math.min(...values))} to ${short(Math.max(...values))}`;
  return `${short(median(values))} ${unit}${values.length > 1 ? ` (${range})` : ''}`;
}

function change(factor: number): string {
  const percent = Math.round((factor - 1) * 100);
  return `${percent > 0 ? '+' : ''}${percent} %`;
}

function targetWords({ by, most }: Target, unit: string): string {
  if (by === 'ratio') return `at most ${most} times`;
  return `at most ${by === 'difference' ? '+' : ''}${most} ${unit}`;
}

/** Three digits are all that such figures are worth. */
function short(value: number): string {
  if (value === 0 || Math.abs(value) >= 100) return value.toFixed(0);
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}
