import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { probeBroker } from '../../../src/broker/probeBroker.ts';
import { brokerOptions, connected, startEmbedded } from '../../support/brokers.ts';
import { logLines } from '../../support/logLines.ts';
import { freePort } from '../../support/ports.ts';

const parts = (stopping = new AbortController().signal) => ({
  clock: systemClock,
  log: logLines().log,
  stopping,
});

describe('a visit to the broker', () => {
  it('does not push out a running bridge of the same client id', async () => {
    const { url } = await startEmbedded();
    const bridge = await connected(url, { protocolVersion: 4 });
    await probeBroker(brokerOptions(url), 'check', parts(), async (connection) => {
      await connection.publish('a', 'b', { retain: false });
    });
    await bridge.connection.publish('a', 'b', { retain: false });
    expect(bridge.events).toEqual(['connected']);
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
