import { describe, expect, it } from 'vitest';
import { connected, startEmbedded } from '../../support/brokers.ts';
import { mosquittoAvailable, startMosquitto } from '../../support/mosquitto.ts';
import { waitFor } from '../../support/waitFor.ts';

const onMosquitto = it.skipIf(!mosquittoAvailable());
const retained = { retain: true } as const;

// A machine that is busy at that moment measures itself.
describe('a connection stops within a second or so', { retry: 2 }, () => {
  /** Stops and returns how long that took, in ms. */
  async function timeToStop(stop: () => Promise<void>): Promise<number> {
    const before = performance.now();
    await stop();
    return performance.now() - before;
  }

  onMosquitto('while the broker hangs, with messages on their way', async () => {
    const mosquitto = await startMosquitto();
    const { connection, events } = await connected(mosquitto.url);
    await mosquitto.kill('SIGSTOP');
    const owed = connection.publish('a', 'b', retained).catch((error: unknown) => error);
    const last = [{ topic: 'state', payload: 'offline' }];
    expect(await timeToStop(() => connection.stop(last))).toBeLessThan(1_700);
    expect(await owed).toMatchObject({ name: 'NotConnectedError', wasSent: true });
    expect(connection.isConnected).toBe(false);
    expect(events).toEqual(['connected', 'disconnected']);
  });

  it('while it reads what is retained', async () => {
    const { url } = await startEmbedded();
    const { connection } = await connected(url);
    await connection.publish('kept', 'yes', retained);
    let isReading = false;
    const reading = connection
      .readRetained(['#'], () => {
        isReading = true;
      })
      .catch(() => undefined);
    await waitFor(() => isReading, { what: 'the first message' });
    expect(await timeToStop(() => connection.stop([]))).toBeLessThan(1_000);
    await reading;
  });

  it('when it was stopped before', async () => {
    const { url } = await startEmbedded();
    const { connection } = await connected(url);
    await connection.stop([]);
    expect(await timeToStop(() => connection.stop([]))).toBeLessThan(700);
  });
});
