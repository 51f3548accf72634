import { expect, it } from 'vitest';
import { Board } from '../../../src/http/board.ts';
import { devicesAPage } from '../../../src/http/status.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { sonicView } from '../../support/views.ts';

const half = { isWorking: true, status: 'up', reason: 'said in each document', workedAt: null } as const;

/** The documents of a bridge with two pages, and how many of them were written. */
function start() {
  const clock = new FakeClock();
  const written = { documents: 0 };
  const gather = () => ({
    startedAt: 0,
    status: 'ok' as const,
    reason: null,
    readiness: { cloud: half, broker: { ...half, reason: null } },
    progress: [],
    polls: [],
    emptiness: null,
    isWhole: true,
    properties: [],
    signals: [],
    sonics: Array.from({ length: devicesAPage + 1 }, () => sonicView()),
    incidents: [],
    areIncidentsKnown: true,
    incidentsReadAt: null,
    readAt: () => null,
  });
  const hide = (text: string) => {
    if (text === half.reason) written.documents += 1;
    return text;
  };
  return { board: new Board(gather, hide, clock), clock, written };
}

const pageOf = (text: string) => JSON.parse(text).page.number;

it('A page is written once for all who ask in that moment, and so is one that there is not', async () => {
  const { board, clock, written } = start();
  for (let page = -500; page <= 500; page++) expect(pageOf(board.text(page))).toBe(page < 2 ? 1 : 2);
  for (const page of [Number.NaN, Number.POSITIVE_INFINITY, 1.5]) board.text(page);
  expect(written.documents).toBe(2);
  await clock.advance(1_000);
  board.text(2);
  expect(written.documents).toBe(3);
});
