import { expect, it } from 'vitest';
import { startCommands } from '../../support/commandBench.ts';
import { topics } from '../../support/views.ts';

const start = topics.below('sonic', 'sonic-1', 'pressure_test/start');

it('however many retained commands there are, to delete one is no command', async () => {
  const bench = await startCommands();
  for (let count = 0; count < 1_000; count++) {
    bench.take(topics.below('sonic', `stranger-${count}`, 'valve/set'), 'CLOSE', { isRetained: true });
  }
  bench.take(start, 'PRESS', { isRetained: true });
  bench.take(start, '');
  const reason = expect.stringMatching(/^the broker keeps so many retained commands/);
  expect(bench.outcomes.at(-1)).toEqual({ topic: start, status: 'refused', reason, http_status: null });
  expect(bench.stub.requests).toEqual([]);
  bench.take(start, 'PRESS');
  await bench.reached(1);
});

it('once one of them is deleted, an empty message is a command again', async () => {
  const bench = await startCommands();
  const stranger = (count: number) => topics.below('sonic', `stranger-${count}`, 'valve/set');
  for (let count = 0; count < 1_000; count++) bench.take(stranger(count), 'CLOSE', { isRetained: true });
  bench.take(stranger(0), '');
  bench.take(start, '');
  await bench.reached(1);
});

it('once the broker was away, an empty message is a command again unless the broker still keeps one', async () => {
  const bench = await startCommands();
  bench.take(start, 'PRESS', { isRetained: true });
  bench.take(start, '');
  bench.take(start, 'PRESS', { isRetained: true });
  bench.forgetKept();
  bench.take(start, '');
  await bench.told(3);
  expect(bench.outcomes.map(({ status }) => status)).toEqual(['refused', 'refused', 'ok']);
  expect(bench.changes).toHaveLength(1);
});
