import { describe, expect, it } from 'vitest';
import { hourly, type TestBridge } from '../support/bridge.ts';
import {
  changingCommands,
  fence,
  outcomes,
  outcomesOf,
  publishAll,
  type SafetyCommand,
  shown,
  startBridgeForCommands,
} from '../support/commandTable.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { startTcpProxy } from '../support/tcpProxy.ts';
import { waitFor } from '../support/waitFor.ts';

const timeoutMs = 2_000;
const config = { schedules: hourly, cloud: { request_timeout: `${timeoutMs}ms` } };

/** Something that holds messages up on their way to the bridge, or in it. */
interface Hold {
  readonly begin: () => void;
  readonly end: () => void;
}

/** More than a broker sends before it waits for acknowledgements. */
const rounds = 3;

/** Sends commands while the bridge cannot take them, lets the time of a command pass, and then everything go on. */
async function sendLate(bridge: TestBridge, hold: Hold): Promise<SafetyCommand[]> {
  const commands = Array.from({ length: rounds }, () => changingCommands(bridge)).flat();
  hold.begin();
  await publishAll(bridge, commands);
  const sentAt = performance.now();
  await waitFor(() => performance.now() - sentAt > 1.25 * timeoutMs, { what: 'the time of a command' });
  hold.end();
  return commands;
}

/** Each late command is refused in words, and the next one is carried out. */
async function expectOnlyFresh(bridge: TestBridge, late: readonly SafetyCommand[]): Promise<void> {
  await waitFor(() => outcomes(bridge).length >= late.length, { what: 'outcomes' });
  await fence(bridge);
  const reason = expect.stringMatching(/may be older than cloud\.request_timeout.*Send it again/);
  const told = outcomes(bridge);
  expect(told).toEqual(told.map(({ topic }) => ({ topic, status: 'refused', reason, http_status: null })));
  expect(told).toHaveLength(late.length);
  expect(bridge.changesSent()).toEqual([]);
  const fresh = changingCommands(bridge).slice(0, 1);
  expect(await outcomesOf(bridge, fresh)).toMatchObject([{ status: 'ok', http_status: 200 }]);
  expect(bridge.changesSent().map(({ operation }) => operation)).toEqual(['command_valve']);
}

describe('a command of any kind that may be older than cloud.request_timeout is not carried out', () => {
  it.skipIf(!mosquittoAvailable()).each([5, 4])(
    'where the link to the broker stalled, with MQTT version %i',
    async (version) => {
      const bridge = await startBridgeForCommands({ isStarted: false, config });
      const way = await startTcpProxy(Number(new URL(bridge.broker.url).port));
      bridge.start({ mqtt: { url: `mqtt://127.0.0.1:${way.port}`, protocol_version: version } });
      await shown(bridge);
      await expectOnlyFresh(bridge, await sendLate(bridge, { begin: way.freeze, end: way.thaw }));
    },
  );

  it('where the bridge was stopped', async () => {
    const bridge = await startBridgeForCommands({ config });
    const { program } = bridge;
    const stop = { begin: () => program.signal('SIGSTOP'), end: () => program.signal('SIGCONT') };
    await expectOnlyFresh(bridge, await sendLate(bridge, stop));
  });
});
