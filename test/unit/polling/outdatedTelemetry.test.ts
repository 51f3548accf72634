import { expect, it } from 'vitest';
import type { Sonic } from '../../../src/model/records.ts';
import { passTime } from '../../support/passTime.ts';
import { startPolling } from '../../support/polling.ts';
import { aSonic } from '../../support/views.ts';

/** Two days before the clock of the polls begins. */
const longAgo = Date.parse('2026-11-18T09:00:00Z') / 1_000;

it('a sonic that measures no more, or again, is named once by the log, whatever becomes of its link and of others', async () => {
  const first = aSonic({ id: 'first', name: null, radio_connection: 'connected' });
  const sonics: Sonic[] = [first, { ...first, id: 'second' }];
  const silent = new Set(['first']);
  const { clock, lines } = await startPolling(
    { properties: 1, signals: 1, sonics: 2 },
    (_now, id) => (silent.has(id) ? { probed_at: longAgo } : {}),
    { list_sonics: sonics },
  );
  const told = () =>
    lines.messages.flatMap(
      (line) => /"(first|second)" (sends no new measurements|sends measurements again)/.exec(line)?.[0] ?? [],
    );
  const pass = () => passTime(clock, 300_000, 1_000);
  await pass();
  expect(told()).toEqual(['"first" sends no new measurements']);
  sonics[0] = { ...first, radio_connection: 'disconnected' };
  await pass();
  sonics[0] = first;
  silent.add('second');
  await pass();
  expect(told().slice(1)).toEqual(['"second" sends no new measurements']);
  silent.clear();
  await pass();
  expect(told().slice(2).toSorted()).toEqual([
    '"first" sends measurements again',
    '"second" sends measurements again',
  ]);
});
