import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { demoCredentials, Simulator } from '../../src/simulator/simulator.ts';
import { type Mosquitto, startMosquitto } from '../support/mosquitto.ts';
import { type MqttWatcher, watchTopics } from '../support/mqttWatcher.ts';
import { freePort } from '../support/ports.ts';
import { type RunningProgram, startProgram, temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';
import { type HomeAssistant, startHomeAssistant } from './homeAssistant.ts';

export const newestVersion = readFileSync(new URL('newest', import.meta.url), 'utf8').trim();
/** The version of Home Assistant that is tested with. */
export const version = process.env['HOME_ASSISTANT_VERSION'] ?? newestVersion;
/** The folder for pictures. */
export const pictures = fileURLToPath(new URL('pictures/', import.meta.url));

/** A broker, a simulated cloud, the bridge between them, and Home Assistant on the same broker. */
export interface Household {
  readonly broker: Mosquitto;
  readonly watcher: MqttWatcher;
  readonly cloud: Simulator;
  program: RunningProgram;
  home: HomeAssistant;
  /** Starts Home Assistant again after it was stopped, with what it had. */
  readonly startHome: () => Promise<HomeAssistant>;
}

/** Starts a household, whose names are those of the demo unless they are changed before. */
export async function startHousehold(
  prepare: (cloud: Simulator) => void = () => {},
  homeassistant: object = {},
): Promise<Household> {
  const broker = await startMosquitto({ persistence: true });
  const watcher = await watchTopics(broker.url, '#');
  const cloud = new Simulator({ seed: 7, quiet: true, pressureTestMs: 3_000, valveTravelMs: 2_000 });
  await cloud.start();
  prepare(cloud);
  const program = startBridge(cloud, broker, temporaryFolder(), homeassistant);
  const homeOptions = { version, folder: temporaryFolder(), port: await freePort(), brokerPort: broker.port };
  const startHome = () => startHomeAssistant(homeOptions);
  return { broker, watcher, cloud, program, startHome, home: await startHome() };
}

/** Stops all of it, also one of which only a part was started. */
export async function stopHousehold(household: Household | undefined): Promise<void> {
  await household?.home.stop();
  await household?.program.stop();
  await household?.cloud.stop();
  await household?.watcher.close();
  await household?.broker.stop();
}

/** Starts the bridge, which reads everything every second or two. */
export function startBridge(
  cloud: Simulator,
  broker: Mosquitto,
  cwd: string,
  homeassistant: object = {},
): RunningProgram {
  const everySecond = {
    ...{ incidents: '1s', sonics: '1s', telemetry: '1s', signals: '1s' },
    ...{ usage: '2s', pressure_tests: '1s', properties: '1s' },
  };
  return startProgram(['run'], {
    cwd,
    outlivesTest: true,
    config: {
      cloud: {
        base_url: cloud.url,
        ...demoCredentials,
        max_requests_per_minute: 100_000,
      },
      mqtt: { url: broker.url },
      http: { listen: '127.0.0.1:0' },
      homeassistant,
      // A valve that is stuck says for a third of a second that it was told to move.
      valve: { confirm_interval: '100ms' },
      schedules: everySecond,
    },
  });
}

/** Waits up to three minutes for the list of problems to become empty, and returns what is left of it. */
export async function settled(problems: () => Promise<string[]>): Promise<string[]> {
  const deadline = performance.now() + 180_000;
  for (;;) {
    const left = await problems();
    if (left.length === 0 || performance.now() > deadline) return left;
    await pause(500);
  }
}

/** Waits until Home Assistant shows an entity in this state. */
export async function becomes({ home }: Household, entityId: string, state: string): Promise<void> {
  await waitFor(async () => (await home.states()).get(entityId)?.state === state, {
    what: `${entityId} to be ${state}`,
    timeoutMs: 180_000,
    intervalMs: 200,
  });
}
