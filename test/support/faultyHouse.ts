import { type FaultyCloud, startFaultyCloud } from './faultyCloud.ts';
import { type House, quick, startHouse } from './house.ts';
import { type RunningProgram, startProgram } from './program.ts';
import { waitFor } from './waitFor.ts';

/** Nothing innocent has it in it. */
const password = 'a-very-secret-password';

/** How long a poll may go on trying, with the waits between, or what is known takes to grow old, in ms. */
const patienceMs = 20_000;
const startMs = 25_000;

/** A house whose way to the cloud can go wrong. */
export interface FaultyHouse {
  readonly house: House;
  readonly cloud: FaultyCloud;
  readonly bridge: RunningProgram;
  /** The sonic that is told to close while things go wrong. */
  readonly told: string;
}

/** Starts a house with a sonic, and resolves once all is well. */
export async function startFaultyHouse(
  options: {
    readonly cloud?: FaultyCloud;
    readonly baseUrl?: (port: number) => string;
    readonly env?: Record<string, string>;
  } = {},
): Promise<FaultyHouse> {
  const cloud = options.cloud ?? (await startFaultyCloud());
  const { baseUrl = (port) => `http://127.0.0.1:${port}`, env = {} } = options;
  const house = await startHouse({
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
        request_timeout: '700ms',
      },
    },
  });
  cloud.target = house.simulator.url;
  const bridge = startProgram(['run'], { config: house.config, env });
  const [told = ''] = house.simulator.world.sonics.ids;
  const faulty = { house, cloud, bridge, told };
  await untilWell(faulty, startMs);
  await house.watcher.waitForMessage(({ topic }) => topic.endsWith('/incident'), {
    what: 'the incident to be announced with which the world begins',
    timeoutMs: patienceMs,
  });
  return faulty;
}

/** Waits until the bridge says that all is well, and shows what the cloud says. */
export async function untilWell({ house, told }: FaultyHouse, timeoutMs = patienceMs): Promise<void> {
  const { simulator, watcher } = house;
  const isWell = () =>
    watcher.last.get('sonic2mqtt/bridge/cloud') === 'online' &&
    house.json('bridge/health')?.status === 'ok' &&
    house.json(`sonic/${told}/homeassistant`)?.valve === simulator.world.valve(told)?.settled;
  await waitFor(isWell, { what: 'all to be well', timeoutMs }).catch((error: Error) => {
    throw new Error(`${error.message}; health: ${JSON.stringify(house.json('bridge/health'))}`);
  });
}
