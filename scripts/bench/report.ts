import { median, spread } from '../measure/statistics.ts';
import { type Figure, isWithin, nameOf, ratioOf, type Target } from './figures.ts';

/** All that a run of the suite has shown. */
export interface Report {
  readonly at: string;
  readonly node: string;
  readonly processor: string;
  readonly broker: string;
  readonly figures: readonly Figure[];
  /** What is to be known about how they came about. */
  readonly notes: readonly string[];
}

const head = ['case', 'sonics', 'figure', 'bridge', 'raw loop', 'ratio', 'target', ''];

/** The figures as a table. */
export function tableOf(figures: readonly Figure[]): string[] {
  return aligned([head, ...figures.map(rowOf)]);
}

/** What has changed since an earlier run, figure by figure. */
export function comparison(before: readonly Figure[], now: readonly Figure[]): string[] {
  const known = new Map(before.map((figure) => [nameOf(figure), figure]));
  const rows = now.flatMap((figure) => {
    const earlier = known.get(nameOf(figure));
    if (!earlier) return [];
    const [then, today] = [median(earlier.bridge), median(figure.bridge)];
    const ratios = [ratioOf(earlier), ratioOf(figure)];
    return [
      [
        figure.case,
        `${figure.sonics}`,
        figure.what,
        withUnit(then, figure.unit),
        withUnit(today, figure.unit),
        then === 0 ? '' : signed((today / then - 1) * 100),
        ratios.map((ratio) => (ratio === null ? '' : ratio.toFixed(2))).join(' > '),
      ],
    ];
  });
  return aligned([['case', 'sonics', 'figure', 'before', 'now', 'change', 'ratio'], ...rows]);
}

function rowOf(figure: Figure): string[] {
  const { bridge, raw, unit, target } = figure;
  const ratio = ratioOf(figure);
  const isMet = isWithin(figure);
  return [
    figure.case,
    `${figure.sonics}`,
    figure.what,
    told(bridge, unit),
    raw === null ? '' : told(raw, unit),
    ratio === null ? '' : ratio.toFixed(2),
    target === null ? '' : wordsOf(target, unit),
    isMet === null ? '' : isMet ? 'within' : 'OVER',
  ];
}

function told(values: readonly number[], unit: string): string {
  const { low, high } = spread(values);
  const range = values.length > 1 ? ` (${short(low)} to ${short(high)})` : '';
  return `${withUnit(median(values), unit)}${range}`;
}

function wordsOf({ by, most }: Target, unit: string): string {
  if (by === 'ratio') return `at most ${most} times`;
  return by === 'difference' ? `at most ${withUnit(most, unit)} more` : `at most ${withUnit(most, unit)}`;
}

function withUnit(value: number, unit: string): string {
  return `${short(value)} ${unit}`.trim();
}

/** Three digits are all that such figures are worth. */
function short(value: number): string {
  if (value === 0 || Math.abs(value) >= 100) return value.toFixed(0);
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}

function signed(percent: number): string {
  return `${percent < 0 ? '' : '+'}${percent.toFixed(1)} %`;
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
