import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hourly, startBridge, type TestBridge } from './bridge.ts';
import { authorities, certificates } from './certificates.ts';
import { type FaultyCloud, startFaultyCloud } from './faultyCloud.ts';
import { temporaryFolder } from './program.ts';

/** A bridge that has read everything over TLS. */
export interface SecureBridge {
  readonly bridge: TestBridge;
  readonly cloud: FaultyCloud;
  readonly sonicIds: readonly string[];
}

/** Starts a bridge with this many valves, whose polls are an hour apart. */
export async function startSecureBridge(sonics: number, timeoutMs: number): Promise<SecureBridge> {
  const authorityFile = join(temporaryFolder(), 'authorities.pem');
  writeFileSync(authorityFile, authorities);
  const cloud = await startFaultyCloud(certificates.own);
  const bridge = await startBridge({
    isStarted: false,
    cloud: { properties: 1, signals: 1, sonics, valveTravelMs: 100 },
    config: {
      schedules: { ...hourly, usage: '1h', pressure_tests: '1h' },
      cloud: {
        base_url: `https://127.0.0.1:${cloud.port}`,
        request_timeout: `${timeoutMs}ms`,
        max_concurrency: 32,
      },
    },
  });
  cloud.target = bridge.cloud.url;
  bridge.start({}, { NODE_EXTRA_CA_CERTS: authorityFile });
  await bridge.untilShown();
  return { bridge, cloud, sonicIds: bridge.cloud.world.sonics.ids };
}
