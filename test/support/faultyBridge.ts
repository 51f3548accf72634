import { quick, startBridge, type TestBridge } from './bridge.ts';
import { type FaultyCloud, startFaultyCloud } from './faultyCloud.ts';
import { waitFor } from './waitFor.ts';

/** Nothing innocent has it in it. */
const password = 'a-very-secret-password';

/** A bridge whose way to the cloud can go wrong. */
export interface FaultyBridge {
  readonly bridge: TestBridge;
  readonly cloud: FaultyCloud;
  /** The sonic that is told to close while things go wrong. */
  readonly told: string;
}

/** Starts a bridge with one valve, and resolves once all is well. */
export async function startFaultyBridge(
  options: {
    readonly cloud?: FaultyCloud;
    readonly baseUrl?: (port: number) => string;
    readonly env?: Record<string, string>;
    readonly requestTimeout?: string;
  } = {},
): Promise<FaultyBridge> {
  const cloud = options.cloud ?? (await startFaultyCloud());
  const { baseUrl = (port) => `http://127.0.0.1:${port}`, env = {}, requestTimeout = '700ms' } = options;
  const bridge = await startBridge({
    isStarted: false,
    cloud: { properties: 1, signals: 1, sonics: 1, password, valveTravelMs: 100 },
    config: {
      // As by default, longer than a poll may try.
      stale_after: '10s',
      schedules: { ...quick, telemetry: '300ms', signals: '300ms', properties: '300ms' },
      valve: { confirm_timeout: '500ms', confirm_interval: '100ms' },
      cloud: {
        base_url: baseUrl(cloud.port),
        password,
        request_timeout: requestTimeout,
      },
    },
  });
  cloud.target = bridge.cloud.url;
  bridge.start({}, env);
  const [told = ''] = bridge.cloud.world.sonics.ids;
  const faulty = { bridge, cloud, told };
  await untilWell(faulty);
  await bridge.mqtt.waitForMessage(({ topic }) => topic.endsWith('/incident'), {
    what: 'the incident to be announced with which the world begins',
  });
  return faulty;
}

/** Waits until the bridge says that all is well, and shows what the cloud says. */
export async function untilWell({ bridge, told }: FaultyBridge): Promise<void> {
  const { cloud: simulator, mqtt } = bridge;
  const isWell = () =>
    mqtt.last.get('sonic2mqtt/bridge/cloud') === 'online' &&
    bridge.json('bridge/health')?.status === 'ok' &&
    bridge.json(`sonic/${told}/homeassistant`)?.valve === simulator.world.valve(told)?.settled;
  await waitFor(isWell, { what: 'all to be well' }).catch((error: Error) => {
    throw new Error(`${error.message}; health: ${JSON.stringify(bridge.json('bridge/health'))}`);
  });
}
