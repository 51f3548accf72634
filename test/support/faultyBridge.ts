import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hourly, startBridge, type TestBridge } from './bridge.ts';
import { authorities, certificates } from './certificates.ts';
import { type FaultyCloud, startFaultyCloud } from './faultyCloud.ts';
import { temporaryFolder } from './program.ts';

/** A bridge that has read everything, and whose connection to the cloud can fail. */
export interface FaultyBridge {
  readonly bridge: TestBridge;
  readonly cloud: FaultyCloud;
  readonly sonicIds: readonly string[];
}

export interface FaultyBridgeOptions {
  /** Whether the cloud speaks TLS. */
  readonly isSecure: boolean;
  readonly requestTimeoutMs: number;
  readonly sonics?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a bridge whose polls are an hour apart. */
export async function startFaultyBridge(options: FaultyBridgeOptions): Promise<FaultyBridge> {
  const { isSecure, requestTimeoutMs, sonics = 1, env = {} } = options;
  const authorityFile = join(temporaryFolder(), 'authorities.pem');
  writeFileSync(authorityFile, authorities);
  const cloud = await startFaultyCloud(isSecure ? certificates.own : null);
  const bridge = await startBridge({
    isStarted: false,
    cloud: { properties: 1, signals: 1, sonics, valveTravelMs: 100 },
    config: {
      schedules: { ...hourly, usage: '1h', pressure_tests: '1h' },
      valve: { confirm_interval: '100ms' },
      cloud: {
        base_url: `${isSecure ? 'https' : 'http'}://127.0.0.1:${cloud.port}`,
        request_timeout: `${requestTimeoutMs}ms`,
        max_concurrency: 32,
      },
    },
  });
  cloud.target = bridge.cloud.url;
  bridge.start({}, { NODE_EXTRA_CA_CERTS: authorityFile, ...env });
  await bridge.untilShown();
  await bridge.untilJson('bridge/health', ({ status }) => status === 'ok');
  return { bridge, cloud, sonicIds: bridge.cloud.world.sonics.ids };
}
