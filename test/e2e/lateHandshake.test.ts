import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { hourly, startBridge, type TestBridge } from '../support/bridge.ts';
import { authorities, certificates } from '../support/certificates.ts';
import { startConnectProxy } from '../support/connectProxy.ts';
import { type FaultyCloud, startFaultyCloud } from '../support/faultyCloud.ts';
import { temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const timeoutMs = 2_000;

/** The share of the deadline that each handshake takes: each tenth, and the last tenth more closely. */
const shares = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.9, 0.92, 0.94, 0.96, 0.98];

interface LateBridge {
  readonly bridge: TestBridge;
  readonly cloud: FaultyCloud;
  readonly sonicIds: readonly string[];
}

/** A bridge that has read everything, and from then on needs one of the shares for each handshake in turn. */
async function startLate(way: 'over TLS' | 'over TLS through a proxy'): Promise<LateBridge> {
  const isProxied = way === 'over TLS through a proxy';
  const authorityFile = join(temporaryFolder(), 'authorities.pem');
  writeFileSync(authorityFile, authorities);
  const cloud = await startFaultyCloud(isProxied ? certificates.elsewhere : certificates.own);
  const proxy = isProxied ? { HTTPS_PROXY: (await startConnectProxy(cloud.port)).url } : {};
  const bridge = await startBridge({
    isStarted: false,
    cloud: { properties: 1, signals: 1, sonics: shares.length, valveTravelMs: 100 },
    config: {
      schedules: { ...hourly, usage: '1h', pressure_tests: '1h' },
      cloud: {
        base_url: isProxied ? 'https://elsewhere.example' : `https://127.0.0.1:${cloud.port}`,
        request_timeout: `${timeoutMs}ms`,
        max_concurrency: 32,
      },
    },
  });
  cloud.target = bridge.cloud.url;
  bridge.start({}, { NODE_EXTRA_CA_CERTS: authorityFile, ...proxy });
  await bridge.untilShown();
  let next = 0;
  await cloud.begin({ handshakeMs: () => (shares[next++ % shares.length] ?? 0) * timeoutMs });
  return { bridge, cloud, sonicIds: bridge.cloud.world.sonics.ids };
}

it.each(['over TLS', 'over TLS through a proxy'] as const)(
  'a handshake %s that ends at any tenth of the deadline leaves each command an outcome',
  async (way) => {
    const { bridge, cloud, sonicIds } = await startLate(way);
    const paths = ['valve/set', 'name/set'].flatMap((end) => sonicIds.map((id) => `sonic/${id}/${end}`));
    const outcomeOf = (path: string) => bridge.outcomes(path).find(({ status }) => status !== 'sent');
    // Polls, too.
    await bridge.mqtt.publish('sonic2mqtt/bridge/refresh', 'now');
    await Promise.all(paths.map((path) => bridge.mqtt.publish(`sonic2mqtt/${path}`, 'CLOSE')));
    await waitFor(() => !bridge.program.isRunning || paths.every(outcomeOf), {
      what: 'an outcome of each command',
    });
    expect(bridge.program.isRunning, bridge.program.output).toBe(true);
    const unsent = paths.filter((path) =>
      /while connecting|before the request was sent/.test(outcomeOf(path)?.reason ?? ''),
    );
    const written = cloud.asked.filter((line) => /^(PUT|PATCH) /.test(line));
    expect(unsent.length).toBeGreaterThan(0);
    expect(written).toHaveLength(paths.length - unsent.length);
    await cloud.repair();
    const polled = bridge.polls(1);
    await bridge.mqtt.publish('sonic2mqtt/bridge/refresh', 'now');
    await polled;
  },
);
