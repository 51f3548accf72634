import { expect, it } from 'vitest';
import type { Sonic } from '../../../src/model/records.ts';
import { passTime } from '../../support/passTime.ts';
import { startPolling } from '../../support/polling.ts';
import { aSonic } from '../../support/views.ts';

/** Two days before the clock of the polls begins. */
const longAgo = Date.parse('2026-11-18T09:00:00Z') / 1_000;

it.each<[string, (sonics: Sonic[], first: Sonic) => void]>([
  ['is gone', (sonics) => sonics.shift()],
  ['is out of reach', (sonics, first) => sonics.splice(0, 1, { ...first, radio_connection: 'disconnected' })],
])('old measurements of a sonic that %s do not keep the log from telling of another’s', async (_, leave) => {
  const first = aSonic({ id: 'first', name: null, radio_connection: 'connected' });
  const sonics = [first, { ...first, id: 'second' }];
  const outdated = new Set(['first']);
  const { clock, lines } = await startPolling(
    { properties: 1, signals: 1, sonics: 2 },
    (_now, id) => (outdated.has(id) ? { probed_at: longAgo } : {}),
    { list_sonics: sonics },
  );
  const told = () =>
    lines.messages.flatMap(
      (line) => /"(first|second)" (was|is) (measured more|measuring again)/.exec(line)?.[0] ?? [],
    );
  expect(told()).toEqual(['"first" was measured more']);
  leave(sonics, first);
  await passTime(clock, 300_000, 1_000);
  expect(told()).toHaveLength(1);
  outdated.add('second');
  await passTime(clock, 300_000, 1_000);
  expect(told().slice(1)).toEqual(['"second" was measured more']);
  outdated.delete('second');
  await passTime(clock, 300_000, 1_000);
  expect(told().slice(2)).toEqual(['"second" is measuring again']);
});
