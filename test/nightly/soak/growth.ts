import { median } from '../../../scripts/measure/statistics.ts';

/** What the process of the bridge holds, in bytes and numbers; see probe.mjs. */
export type Figures = Readonly<Record<string, number>>;

/** Memory may grow by a twentieth, between rounds in the middle of the first and of the last third; a number not at all. */
const mostGrowth = 0.05;
const ofMemory = new Set(['heapUsed', 'held']);
/** In the first rounds code is still being compiled. */
const warmUpShare = 0.2;
/** With fewer a rise could be chance. */
const fewestRounds = 8;

/** Each figure that grew over the rounds; null after too few of them. */
export function grown(rounds: readonly Figures[]): string[] | null {
  const steady = rounds.slice(Math.ceil(rounds.length * warmUpShare));
  if (steady.length < fewestRounds) return null;
  const third = Math.floor(steady.length / 3);
  return Object.keys(steady[0] ?? {}).flatMap((name) => {
    const values = steady.map((figures) => figures[name] ?? 0);
    const [first, last] = [values.slice(0, third), values.slice(-third)];
    const isGrown = ofMemory.has(name)
      ? median(last) > median(first) * (1 + mostGrowth)
      : Math.min(...last) > Math.max(...first);
    return isGrown ? [`${name} grew: ${values.join(', ')}`] : [];
  });
}
