import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { probeBroker } from '../../../src/broker/probeBroker.ts';
import { brokerOptions, connected, startEmbedded } from '../../support/brokers.ts';
import { logLines } from '../../support/logLines.ts';
import { watchTopics } from '../../support/mqttWatcher.ts';
import { freePort } from '../../support/ports.ts';

const parts = (stopping = new AbortController().signal) => ({
  clock: systemClock,
  log: logLines().log,
  stopping,
});

describe('a visit to the broker', () => {
  it('lasts as long as its work, and gives its result', async () => {
    const { url } = await startEmbedded();
    const result = await probeBroker(brokerOptions(url), 'check', parts(), async (connection) => {
      await connection.publish('kept', 'yes', { retain: true });
      expect(connection.isConnected).toBe(true);
      return 'done';
    });
    expect(result).toBe('done');
    expect((await watchTopics(url, '#')).last.get('kept')).toBe('yes');
  });

  it('does not push out a running bridge of the same client id', async () => {
    const { url } = await startEmbedded();
    const bridge = await connected(url, { protocolVersion: 4 });
    await probeBroker(brokerOptions(url), 'check', parts(), async (connection) => {
      await connection.publish('a', 'b', { retain: false });
    });
    await bridge.connection.publish('a', 'b', { retain: false });
    expect(bridge.events).toEqual(['connected']);
  });

  it('passes on why its work failed, and why the broker cannot be reached', async () => {
    const { url } = await startEmbedded();
    const failing = probeBroker(brokerOptions(url), 'check', parts(), async () => {
      throw new Error('no luck');
    });
    await expect(failing).rejects.toThrow('no luck');
    const nowhere = `mqtt://127.0.0.1:${await freePort()}`;
    await expect(probeBroker(brokerOptions(nowhere), 'check', parts(), async () => 1)).rejects.toThrow(
      `${nowhere}: connection refused. Check the broker and its port`,
    );
  });

  it('ends when it is stopped, before and while it waits', async () => {
    const nowhere = brokerOptions(`mqtt://127.0.0.1:${await freePort()}`);
    const stopping = new AbortController();
    const visit = probeBroker(nowhere, 'check', parts(stopping.signal), async () => 1);
    stopping.abort();
    await expect(visit).rejects.toThrow('stopped');
    await expect(probeBroker(nowhere, 'check', parts(stopping.signal), async () => 1)).rejects.toThrow(
      'stopped',
    );
  });
});
