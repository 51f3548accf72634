import { median } from '../measure/statistics.ts';

/** What is hoped for, by what it is judged. */
export interface Target {
  /** The bridge's median by that of the raw loop; by how much it is larger; or the bridge's alone. */
  readonly by: 'ratio' | 'difference' | 'value';
  readonly most: number;
}

/** One measured thing: of each run a value, of the bridge and of the raw loop that was run in turn with it. */
export interface Figure {
  readonly case: string;
  readonly sonics: number;
  readonly what: string;
  readonly unit: string;
  readonly bridge: readonly number[];
  /** Null where there is nothing to compare with. */
  readonly raw: readonly number[] | null;
  readonly target: Target | null;
}

/** The bridge's median by that of the raw loop; null where there is none. */
export function ratioOf({ bridge, raw }: Figure): number | null {
  const yardstick = raw === null ? 0 : median(raw);
  return yardstick > 0 ? median(bridge) / yardstick : null;
}

/** What is judged by the figure's target; null where that cannot be. */
export function judgedOf(figure: Figure): number | null {
  const { bridge, raw, target } = figure;
  if (target === null || bridge.length === 0) return null;
  if (target.by === 'value') return median(bridge);
  if (target.by === 'ratio') return ratioOf(figure);
  return raw === null ? null : median(bridge) - median(raw);
}

/** Whether the target was met; null where there is none. */
export function isWithin(figure: Figure): boolean | null {
  const judged = judgedOf(figure);
  return judged === null || figure.target === null ? null : judged <= figure.target.most;
}

/** What makes two figures comparable. */
export function nameOf({ case: name, sonics, what }: Figure): string {
  return `${name}, ${sonics} sonics, ${what}`;
}
