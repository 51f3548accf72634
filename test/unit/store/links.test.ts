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
    { words: ['connected'], link: up },
    { words: ['disconnected'], link: down },
    { words: ['connected', 'disconnected'], link: { isUp: true, isFlap: true } },
    { words: ['connected', 'disconnected', 'disconnected'], link: down },
    { words: ['disconnected', 'connected'], link: up },
    { words: ['asleep', 'disconnected'], link: { isUp: null, isFlap: true } },
    { words: ['connected', 'asleep'], link: unknown },
    { words: [null], link: unknown },
  ])('that was read as $words', ({ words, link }) => {
    expect(linkOf(hubRead(...words), 'hub')).toEqual(link);
    expect(linkOf(valveRead(...words), 'valve')).toEqual(link);
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
