import { expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { Connection } from '../../../src/broker/connection.ts';
import { brokerOptions, startEmbedded } from '../../support/brokers.ts';
import { atTestEnd } from '../../support/childProcess.ts';
import { logLines } from '../../support/logLines.ts';
import { watchTopics } from '../../support/mqttWatcher.ts';
import { waitFor } from '../../support/waitFor.ts';

it('a process that was held up does not hear what was sent to it meanwhile, and connects anew', async () => {
  const { url } = await startEmbedded();
  let heldUpMs = 0;
  const clock: Clock = { ...systemClock, monotonic: () => performance.now() + heldUpMs };
  const lines = logLines('info');
  const heard: string[] = [];
  const connection = new Connection(
    brokerOptions(url, { protocolVersion: 4, subscriptions: ['set'] }),
    { connected: () => {}, message: ({ payload }) => heard.push(payload) },
    clock,
    () => -0.9,
    lines.log,
  );
  connection.start();
  atTestEnd(() => connection.stop([]));
  await waitFor(() => connection.isConnected, { what: 'the connection' });
  const watcher = await watchTopics(url, 'none');
  heldUpMs = 3_000;
  await watcher.publish('set', 'a little late');
  await waitFor(() => heard.length === 1, { what: 'the command' });
  heldUpMs = 60_000;
  await watcher.publish('set', 'much too late');
  await waitFor(() => lines.text.includes('back after'), { what: 'the new connection' });
  await watcher.publish('set', 'in time');
  await waitFor(() => heard.length === 2, { what: 'the next command' });
  expect(heard).toEqual(['a little late', 'in time']);
  expect(lines.text).toContain('the bridge was held up: what the broker had for it meanwhile comes too late');
});
