import { expect } from 'vitest';
import { changingParts } from '../support/changingParts.ts';
import type { Home } from './home.ts';

/** All that the broker keeps, by topic, but for what passes. */
export function pictureOf(home: Home): ReadonlyMap<string, string> {
  return new Map(
    [...home.broker.retained].map(([topic, text]) => [topic, text.replaceAll(changingParts, '')]),
  );
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
