import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { OperationName } from '../../src/cloud/operations.ts';
import { type FaultyBridge, type FaultyBridgeOptions, startFaultyBridge } from '../support/faultyBridge.ts';
import type { CloudRequest } from '../support/faultyCloud.ts';
import { temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

/**
 * Far longer in the request than in the message, and too long for the window of a receiver that does not read: the end of
 * the request waits in the kernel of the sender, as a short one does while the network swallows packets.
 */
const padding = Array.from({ length: 12_000 }, () => '1e20').join(',');

const operation: OperationName = 'update_customer_property';

/** A bridge whose cloud leaves such changes unread until they are let through. */
async function startStalled(options: FaultyBridgeOptions) {
  const faulty = await startFaultyBridge(options);
  const held: CloudRequest[] = [];
  await faulty.cloud.begin({
    keepsConnections: true,
    answer: async (visit) => {
      if (visit.request.method === 'PUT' && visit.request.url?.includes('/customer_app/properties/'))
        held.push(visit);
      else await answer(visit);
    },
  });
  const { mqtt } = faulty.bridge;
  return {
    ...faulty,
    /** Asks for a change, and resolves once the cloud sees that its request begins. */
    async change() {
      const [id] = faulty.bridge.cloud.world.properties.ids;
      const content = `{"params":{"property_id":"${id}"},"body":{"name":"Late","note":[${padding}]}}`;
      await mqtt.publish(`sonic2mqtt/bridge/request/${operation}`, content);
      await waitFor(() => held.length > 0, { what: 'the command to reach the cloud' });
    },
    /** Reads what was left unread, and does what it asks if it is all there. */
    async letThrough() {
      await Promise.all(held.splice(0).map((visit) => answer(visit).catch(() => undefined)));
    },
  };
}

async function answer({ response, forward }: CloudRequest): Promise<void> {
  const { status, headers, body } = await forward();
  response.writeHead(status, headers).end(body);
}

/** Those requests that have reached the cloud, in order. */
const sentTo = ({ bridge }: FaultyBridge, ...names: OperationName[]) =>
  bridge.cloud.requests.entries.flatMap(({ operation: name }) =>
    name && names.includes(name) ? [name] : [],
  );

const overTls = { isSecure: true, way: 'over TLS' } as const;
const overTcp = { isSecure: false, way: 'over plain TCP' } as const;

it.for([overTcp, overTls])(
  'a change that was given up, $way, does not reach the cloud later',
  async ({ isSecure }) => {
    // Longer than a busy machine needs to begin the request.
    const stalled = await startStalled({ isSecure, requestTimeoutMs: 3_000 });
    const { bridge, sonicIds } = stalled;
    const [sonicId = ''] = sonicIds;
    await stalled.change();
    await bridge.mqtt.waitForMessage(
      ({ topic, text }) => topic.endsWith(operation) && text.includes('timeout'),
      { what: 'the command to be given up' },
    );
    await bridge.mqtt.publish(`sonic2mqtt/sonic/${sonicId}/valve/set`, 'OPEN');
    await waitFor(() => sentTo(stalled, 'command_valve').length === 1, { what: 'the newer command' });
    await stalled.letThrough();
    expect(sentTo(stalled, 'command_valve', operation)).toEqual(['command_valve']);
    expect(bridge.cloud.world.valve(sonicId)?.settled).toBe('open');
  },
);

/** How a process can end, with its exit status. Without a stop, it does this at the signal. */
const ends: readonly {
  readonly isSecure: boolean;
  readonly way: string;
  readonly how: string;
  readonly signal: NodeJS.Signals;
  readonly status: number;
  readonly does?: string;
}[] = [
  { how: 'a stop', ...overTcp, signal: 'SIGTERM', status: 0 },
  { how: 'the end of its terminal', ...overTls, signal: 'SIGHUP', status: 0 },
  {
    how: 'a mistake',
    ...overTcp,
    signal: 'SIGUSR2',
    status: 1,
    does: 'throw new Error("a mistake")',
  },
  { how: 'an exit', ...overTls, signal: 'SIGUSR2', status: 3, does: 'process.exit(3)' },
];

it.for(ends)(
  'a change that is under way $way does not reach the cloud after the end of the bridge by $how',
  async ({ isSecure, signal, status, does = '' }) => {
    const preload = join(temporaryFolder(), 'end.cjs');
    writeFileSync(preload, `process.on('SIGUSR2', () => { ${does} });`);
    // Its time is not up before the end.
    const env = { NODE_OPTIONS: `--require ${preload}` };
    const stalled = await startStalled({ isSecure, requestTimeoutMs: 20_000, env });
    await stalled.change();
    expect(await stalled.bridge.program.stop(signal)).toMatchObject({ code: status });
    await stalled.letThrough();
    expect(sentTo(stalled, 'command_valve', operation)).toEqual([]);
  },
);

it('of two valve commands, over TLS, the newer one is all that reaches the cloud: the first still connects', async () => {
  const { bridge, cloud, sonicIds } = await startFaultyBridge({ isSecure: true, requestTimeoutMs: 20_000 });
  const [sonicId = ''] = sonicIds;
  const topic = `sonic2mqtt/sonic/${sonicId}/valve/set`;
  const statuses = () =>
    bridge.events('command').flatMap((event) => (event['topic'] === topic ? [event['status']] : []));
  await cloud.begin({ keepsConnections: true, holdsConnections: true });
  const before = cloud.connectionCount;
  await bridge.mqtt.publish(topic, 'OPEN');
  // A connection alone may be that of a poll.
  await bridge.untilJson(`sonic/${sonicId}/last_command`, ({ status }) => status === 'sent');
  await waitFor(() => cloud.connectionCount > before, { what: 'the connection of the first' });
  await bridge.mqtt.publish(topic, 'CLOSE');
  await waitFor(() => statuses().includes('superseded'), { what: 'the first to give way' });
  await waitFor(() => cloud.connectionCount > before + 1, { what: 'the connection of the second' });
  cloud.releaseConnections();
  await waitFor(() => statuses().includes('ok'), { what: 'the second to be carried out' });
  expect(statuses()).toEqual(['superseded', 'ok']);
  const written = cloud.asked.filter((line) => line.startsWith('PUT') && line.endsWith('/valve'));
  expect(written).toHaveLength(1);
  await waitFor(() => bridge.cloud.world.valve(sonicId)?.settled === 'closed', {
    what: 'the valve to close',
  });
});
