import { expect } from 'vitest';
import type { Home } from './home.ts';

/** Times, what a run is known by, who moved a valve meanwhile, what is measured anew then, and the water that runs. */
const passing =
  /"(at|by|moved_at|moved_by|water_at_rest)":("[^"]*"|null)|\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)|"instance_id":"\w+"|"(flow|pressure|water)[a-z_]*":([\d.]+|null)|"(today|yesterday|month|total|requests)[a-z_]*":[\d.]+|"days":\{[^}]*\}/g;

/** All that the broker keeps, by topic, but for what passes. */
export function pictureOf(home: Home): ReadonlyMap<string, string> {
  return new Map([...home.broker.retained].map(([topic, text]) => [topic, text.replaceAll(passing, '')]));
}

/** All that the broker keeps is as it was, nothing of it was deleted meanwhile, and no valve was shown to have moved. */
export function expectWhole(home: Home, before: ReadonlyMap<string, string>): void {
  const after = pictureOf(home);
  const differences = [...new Set([...before.keys(), ...after.keys()])]
    .filter((topic) => before.get(topic) !== after.get(topic))
    .map((topic) => ({ topic, before: before.get(topic), after: after.get(topic) }));
  expect(differences).toEqual([]);
  expect(home.messages.filter(({ topic, payload }) => payload === '' && before.has(topic))).toEqual([]);
  const valves = home.published(`sonic/${home.sonicId}`).map(({ payload }) => JSON.parse(payload).valve);
  expect(valves.filter((valve) => valve !== 'open')).toEqual([]);
}
