import { describe, expect, it } from 'vitest';
import { linkOf } from '../../../src/store/links.ts';
import { Table } from '../../../src/store/table.ts';
import { aSignal, aSonic } from '../../support/views.ts';

const up = { isUp: true, isFlap: false };
const down = { isUp: false, isFlap: false };
const unknown = { isUp: null, isFlap: false };

/** A table into which a device was read with each of these words, one second after the other. */
function hubRead(...words: readonly (string | null)[]) {
  const table = new Table<ReturnType<typeof aSignal>>();
  for (const [at, word] of words.entries())
    table.upsert('hub', aSignal({ id: 'hub', cloud_connection: word }), at * 1_000);
  return table;
}

function valveRead(...words: readonly (string | null)[]) {
  const table = new Table<ReturnType<typeof aSonic>>();
  for (const [at, word] of words.entries())
    table.upsert('valve', aSonic({ id: 'valve', radio_connection: word }), at * 1_000);
  return table;
}

describe('the link', () => {
  it.each([
    { words: ['connected'], hub: up, valve: up },
    { words: ['disconnected'], hub: { isUp: null, isFlap: true }, valve: down },
    { words: ['disconnected', 'disconnected'], hub: down, valve: down },
    {
      words: ['connected', 'disconnected'],
      hub: { isUp: true, isFlap: true },
      valve: { isUp: true, isFlap: true },
    },
    { words: ['connected', 'disconnected', 'disconnected'], hub: down, valve: down },
    { words: ['disconnected', 'connected'], hub: up, valve: up },
    {
      words: ['asleep', 'disconnected'],
      hub: { isUp: null, isFlap: true },
      valve: { isUp: null, isFlap: true },
    },
    { words: ['connected', 'asleep'], hub: unknown, valve: unknown },
    { words: [null], hub: unknown, valve: unknown },
  ])('that was read as $words', ({ words, hub, valve }) => {
    expect(linkOf(hubRead(...words), 'hub')).toEqual(hub);
    expect(linkOf(valveRead(...words), 'valve')).toEqual(valve);
  });

  it('does not count as before by a reading that is stale', () => {
    const table = hubRead('connected', 'disconnected');
    table.markStale(1_000);
    expect(linkOf(table, 'hub')).toEqual(down);
  });

  it('of a valve on Wi-Fi is up without a word, but not with one that is unknown', () => {
    const links = [null, 'asleep', 'disconnected'].map((word) => linkOf(valveRead(word), 'valve', true));
    expect(links).toEqual([up, unknown, down]);
  });
});
