import { quick, startBridge, type TestBridge } from './bridge.ts';
import { type FaultyCloud, startFaultyCloud } from './faultyCloud.ts';
import { waitFor } from './waitFor.ts';

/** A text that appears nowhere else, so that a leak is found. */
const password = 'a-very-secret-password';

/** A bridge whose connection to the cloud can fail. */
export interface FaultyBridge {
  readonly bridge: TestBridge;
  readonly cloud: FaultyCloud;
  /** The sonic that tests close while the connection fails. */
  readonly sonicId: string;
}

/** Starts a bridge with one valve. Resolves once it is healthy. */
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
      // Longer than the retries of a poll, as by default.
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
  const [sonicId = ''] = bridge.cloud.world.sonics.ids;
  const faulty = { bridge, cloud, sonicId };
  await untilHealthy(faulty);
  await bridge.mqtt.waitForMessage(
    ({ topic, text }) => topic.endsWith('/bridge/event') && text.includes('"incident_opened"'),
    {
      what: 'the incident to be announced with which the world begins',
    },
  );
  return faulty;
}

/** Waits until the bridge reports that all is well, and shows the position that the valve has. */
async function untilHealthy({ bridge, sonicId }: FaultyBridge): Promise<void> {
  const { cloud: simulator, mqtt } = bridge;
  const isWell = () =>
    mqtt.last.get('sonic2mqtt/bridge/cloud') === 'online' &&
    bridge.json('bridge/health')?.status === 'ok' &&
    bridge.json(`sonic/${sonicId}/homeassistant`)?.valve === simulator.world.valve(sonicId)?.settled;
  await waitFor(isWell, { what: 'all to be well' }).catch((error: Error) => {
    throw new Error(`${error.message}; health: ${JSON.stringify(bridge.json('bridge/health'))}`);
  });
}
