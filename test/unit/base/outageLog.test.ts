import { expect, it } from 'vitest';
import { outageLog } from '../../../src/base/outageLog.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';

function newOutage() {
  const clock = new FakeClock();
  const lines = logLines('info');
  return { clock, lines, outage: outageLog(clock, lines.log, 'The broker') };
}

it('an evening away is a line at its start, one an hour and one at its end', () => {
  const { clock, lines, outage } = newOutage();
  for (let minute = 0; minute < 150; minute++) {
    outage.failed('connection refused');
    clock.advance(60_000);
  }
  outage.recovered();
  expect(lines.messages).toEqual([
    'warn: The broker: connection refused. Retrying',
    'warn: The broker: offline for 60 min, 61 attempts: connection refused',
    'warn: The broker: offline for 2 h, 121 attempts: connection refused',
    'info: The broker: works again after 3 h (150 failed attempts)',
  ]);
});

it('a reason that is new is said at once', () => {
  const { lines, outage } = newOutage();
  for (const reason of ['refused', 'refused', 'wrong password', 'wrong password']) outage.failed(reason);
  expect(lines.messages).toEqual([
    'warn: The broker: refused. Retrying',
    'warn: The broker: wrong password. Retrying',
  ]);
});

it('reasons that take turns are said once each', () => {
  const { lines, outage } = newOutage();
  for (const reason of ['refused', 'closed', 'refused', 'closed', 'refused']) outage.failed(reason);
  expect(lines.messages).toEqual([
    'warn: The broker: refused. Retrying',
    'warn: The broker: closed. Retrying',
  ]);
});

it('a reason that only words the same thing otherwise is not said', () => {
  const { lines, outage } = newOutage();
  for (let request = 0; request < 5; request++) outage.failed(`status 500, request ${request}`, 'status 500');
  expect(lines.messages).toEqual(['warn: The broker: status 500, request 0. Retrying']);
});

it('what works all the time is not worth a line', () => {
  const { lines, outage } = newOutage();
  outage.recovered();
  outage.recovered();
  expect(lines.text).toBe('');
});

it('a second outage is logged like the first', () => {
  const { clock, lines, outage } = newOutage();
  for (let round = 0; round < 2; round++) {
    outage.failed('refused');
    clock.advance(5_000);
    outage.recovered();
  }
  const once = [
    'warn: The broker: refused. Retrying',
    'info: The broker: works again after 5 s (1 failed attempts)',
  ];
  expect(lines.messages).toEqual([...once, ...once]);
});

it('each attempt is there for who debugs', () => {
  const clock = new FakeClock();
  const lines = logLines('debug');
  const outage = outageLog(clock, lines.log, 'The broker');
  outage.failed('refused');
  outage.failed('refused');
  expect(lines.messages.at(-1)).toBe('debug: The broker: refused');
});
