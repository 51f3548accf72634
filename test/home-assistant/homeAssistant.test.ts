import { mkdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Mosquitto, startMosquitto } from '../support/mosquitto.ts';
import { type MqttWatcher, watchTopics } from '../support/mqttWatcher.ts';
import { freePort } from '../support/ports.ts';
import { type RunningProgram, startProgram, temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';
import { chromiumAvailable, takePicture } from './browser.ts';
import { type EntityState, type HomeAssistant, startHomeAssistant } from './homeAssistant.ts';

const newestVersion = readFileSync(new URL('newest', import.meta.url), 'utf8').trim();
const version = process.env['HOME_ASSISTANT_VERSION'] ?? newestVersion;
const pictures = fileURLToPath(new URL('pictures/', import.meta.url));

/** Components that may show "unknown" although all is well, and why. */
const mayBeUnknown: Readonly<Record<string, string>> = {
  event_incident: 'no incident has opened since Home Assistant started',
  button_refresh: 'nobody has pressed it',
  sensor_valve_travel_time: 'no valve has been commanded yet',
  sensor_modem_boot_time: 'the cloud says 0, which is unknown',
};

const availability = z.array(z.object({ topic: z.string() }));
const discovery = z.object({
  device: z.object({
    identifiers: z.array(z.string()),
    name: z.string(),
    model: z.string(),
    via_device: z.string().optional(),
  }),
  availability,
  components: z.record(
    z.string(),
    z.object({
      unique_id: z.string(),
      name: z.string().nullable(),
      enabled_by_default: z.boolean().optional(),
      availability: availability.optional(),
    }),
  ),
});

let broker: Mosquitto;
let watcher: MqttWatcher;
let cloud: RunningProgram;
let cloudUrl: string;
let bridge: RunningProgram;
let home: HomeAssistant;
let startHome: () => Promise<HomeAssistant>;

beforeAll(async () => {
  broker = await startMosquitto();
  watcher = await watchTopics(broker.url, '#');
  cloud = startProgram(['simulate', '--port', '0', '--seed', '7']);
  [, cloudUrl = ''] = await cloud.waitForOutput(/listens on (\S+)/);
  bridge = startBridge(temporaryFolder());
  const homeOptions = { version, folder: temporaryFolder(), port: await freePort(), brokerPort: broker.port };
  startHome = () => startHomeAssistant(homeOptions);
  home = await startHome();
});

afterAll(async () => {
  await home?.stop();
  await bridge?.stop();
  await cloud?.stop();
  await watcher?.close();
  await broker?.stop();
});

function startBridge(cwd: string): RunningProgram {
  const everySecond = { incidents: '1s', sonics: '1s', telemetry: '1s', signals: '1s', properties: '1s' };
  return startProgram(['run'], {
    cwd,
    config: {
      cloud: {
        base_url: cloudUrl,
        email: 'demo@example.com',
        password: 'demo',
        max_requests_per_minute: 100_000,
      },
      mqtt: { url: broker.url },
      schedules: everySecond,
    },
  });
}

/** The devices announced on the broker. */
function announced() {
  return [...watcher.last]
    .filter(([topic]) => /^homeassistant\/device\/[^/]+\/config$/.test(topic))
    .map(([, text]) => discovery.parse(JSON.parse(text)));
}

function announcedIds(): string[] {
  return announced().flatMap(({ components }) => Object.values(components).map(({ unique_id }) => unique_id));
}

async function registeredIds(): Promise<string[]> {
  return (await home.entities()).map(({ unique_id }) => unique_id);
}

/** Where what was announced and what Home Assistant took differ. */
async function registryDifferences(): Promise<string[]> {
  const [wanted, there] = [announcedIds(), await registeredIds()];
  return [
    ...wanted.filter((id) => !there.includes(id)).map((id) => `${id} is missing`),
    ...there.filter((id) => !wanted.includes(id)).map((id) => `${id} is left over`),
  ];
}

async function entityId(uniqueId: string): Promise<string> {
  const found = (await home.entities()).find((entity) => entity.unique_id === uniqueId);
  if (found === undefined) throw new Error(`Home Assistant knows no ${uniqueId}`);
  return found.entity_id;
}

async function stateOf(uniqueId: string): Promise<EntityState | undefined> {
  return (await home.states()).get(await entityId(uniqueId));
}

/** What is wrong with the states of the enabled entities, in words. */
async function wrongStates(): Promise<string[]> {
  const [entities, states] = [await home.entities(), await home.states()];
  const wrong: string[] = [];
  for (const device of announced()) {
    for (const [componentId, component] of Object.entries(device.components)) {
      const entity = entities.find(({ unique_id }) => unique_id === component.unique_id);
      if (entity === undefined || entity.disabled_by !== null) continue;
      const state = states.get(entity.entity_id)?.state;
      const needs = component.availability ?? device.availability;
      const isAvailable = needs.every(({ topic }) => watcher.last.get(topic) === 'online');
      const isRight = isAvailable
        ? state !== undefined &&
          state !== 'unavailable' &&
          (state !== 'unknown' || componentId in mayBeUnknown)
        : state === 'unavailable';
      if (!isRight) wrong.push(`${component.unique_id} is ${state}`);
    }
  }
  return wrong;
}

/** Waits up to half a minute for the list of problems to become empty, and returns what is left of it. */
async function settled(problems: () => Promise<string[]>): Promise<string[]> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const left = await problems();
    if (left.length === 0 || performance.now() > deadline) return left;
    await pause(500);
  }
}

/** The ids of the sonics whose valve Home Assistant shows in this state. */
async function sonicsWithValve(state: string): Promise<string[]> {
  const [entities, states] = [await home.entities(), await home.states()];
  return entities
    .filter(({ entity_id }) => entity_id.startsWith('valve.') && states.get(entity_id)?.state === state)
    .map(({ unique_id }) => unique_id.replace(/^sonic2mqtt_(.*)_valve$/, '$1'));
}

/** The valve as the cloud itself tells it, without the bridge in between. */
async function valveInTheCloud(sonicId: string): Promise<string> {
  const signedIn = await request(`${cloudUrl}/user-service/auth/sign_in`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'demo@example.com', password: 'demo' }),
  });
  const { token_details } = z.object({ token_details: z.string() }).parse(await signedIn.body.json());
  const read = await request(`${cloudUrl}/ape/v1/sonics/${sonicId}`, {
    headers: { authorization: `Bearer ${token_details}` },
  });
  return z.object({ valve_state: z.string() }).parse(await read.body.json()).valve_state;
}

function complainsAboutNothing(): void {
  test('Home Assistant complains about nothing', async () => {
    expect(await home.complaints()).toEqual([]);
  });
}

describe(`Home Assistant ${version}, met for the first time`, () => {
  test('takes every entity that is announced, and no other', async () => {
    const kinds = ['bridge', 'property', 'signal', 'sonic'];
    const isShown = (kind: string) =>
      [...watcher.last.keys()].some((topic) => topic.startsWith(`sonic2mqtt/${kind}/`));
    await waitFor(() => kinds.every(isShown), { what: 'a device of each kind', timeoutMs: 20_000 });
    expect(await settled(registryDifferences)).toEqual([]);
    expect(announcedIds().length).toBeGreaterThan(50);
  });

  test('links each device to the one above it', async () => {
    const devices = await home.devices();
    const byIdentifier = new Map(
      devices.flatMap((device) => device.identifiers.map(([, id]) => [id, device])),
    );
    for (const { device } of announced()) {
      const found = byIdentifier.get(device.identifiers[0]);
      const above = device.via_device === undefined ? undefined : byIdentifier.get(device.via_device);
      expect(found, `${device.name} is there`).toMatchObject({
        name: device.name,
        via_device_id: above?.id ?? null,
      });
      expect(device.via_device === undefined, `${device.name} has something above it`).toBe(
        above === undefined,
      );
    }
  });

  test('shows a value for every entity that should have one', async () => {
    expect(await settled(wrongStates)).toEqual([]);
  });

  test('shows an open incident with its record', async () => {
    const open = [...watcher.last].filter(([topic]) => topic.startsWith('sonic2mqtt/incident/'));
    const incidents = z.array(
      z.object({ id: z.string(), type: z.string(), sonic_id: z.string().nullable() }),
    );
    const [incident] = incidents
      .parse(open.map(([, text]) => JSON.parse(text)))
      .filter((each) => each.sonic_id !== null);
    const state = await stateOf(`sonic2mqtt_${incident?.sonic_id}_incident_${incident?.type}`);
    expect(state).toMatchObject({ state: 'on', attributes: { id: incident?.id } });
  });

  test('closes a valve, and shows it closing and then closed', async () => {
    const [sonicId = ''] = await sonicsWithValve('open');
    const valve = await entityId(`sonic2mqtt_${sonicId}_valve`);
    expect(await valveInTheCloud(sonicId)).toBe('open');
    const from = home.changes.length;
    await home.callService('valve', 'close_valve', valve);
    const shown = () => {
      const states = home.changes.slice(from).filter((change) => change.entity_id === valve);
      return states.map(({ state }) => state).filter((state, index, all) => state !== all[index - 1]);
    };
    await waitFor(() => shown().includes('closed'), { what: `${valve} to close`, timeoutMs: 60_000 });
    expect(shown()).toEqual(['closing', 'closed']);
    expect(await valveInTheCloud(sonicId)).toBe('closed');
  });

  test.runIf(chromiumAvailable()).each(['Sonic', 'Signal', 'Property', 'Bridge'])(
    'has a device page for a %s that shows all of it',
    async (model) => {
      const described = announced().find(({ device }) => device.model === model);
      const identifier = described?.device.identifiers[0];
      const device = (await home.devices()).find(({ identifiers }) =>
        identifiers.some(([, id]) => id === identifier),
      );
      const names = Object.values(described?.components ?? {})
        .filter((component) => component.enabled_by_default !== false)
        .map((component) => component.name ?? device?.name ?? '');
      expect(names).not.toEqual([]);
      mkdirSync(pictures, { recursive: true });
      await takePicture({
        url: `${home.url}/config/devices/device/${device?.id}`,
        texts: names,
        file: `${pictures}${model.toLowerCase()}-${version}.png`,
        width: 1400,
        height: model === 'Sonic' ? 2500 : 1300,
      });
    },
  );

  complainsAboutNothing();
});

describe('after a restart of Home Assistant, with all entities enabled', () => {
  let messagesBefore: number;

  beforeAll(async () => {
    for (const entity of await home.entities())
      if (entity.disabled_by !== null) await home.enable(entity.entity_id);
    messagesBefore = watcher.messages.length;
    await home.stop();
    home = await startHome();
  });

  test('the bridge announces every device again once Home Assistant says that it is there', async () => {
    const isBirth = ({ topic, text }: { topic: string; text: string }) =>
      topic === 'homeassistant/status' && text === 'online';
    await watcher.waitForMessage(isBirth, {
      what: 'the birth message',
      timeoutMs: 60_000,
      from: messagesBefore,
    });
    const birth = watcher.messages.findIndex((message, index) => index >= messagesBefore && isBirth(message));
    const announcedAgain = () =>
      watcher.messages.slice(birth).filter(({ topic }) => topic.startsWith('homeassistant/device/'));
    await waitFor(() => announcedAgain().length >= announced().length, {
      what: 'all devices to be announced again',
      timeoutMs: 20_000,
    });
  });

  test('every entity has a value, also those that are disabled at first', async () => {
    expect((await home.entities()).filter((entity) => entity.disabled_by !== null)).toEqual([]);
    expect(await settled(wrongStates)).toEqual([]);
  });

  complainsAboutNothing();
});

describe('while the bridge is away', () => {
  beforeAll(async () => {
    await bridge.stop();
  });

  test('every entity is unavailable', async () => {
    const stillThere = async () => {
      const [entities, states] = [await home.entities(), await home.states()];
      return entities
        .map(({ entity_id }) => entity_id)
        .filter((id) => states.get(id)?.state !== 'unavailable');
    };
    expect(await settled(stillThere)).toEqual([]);
  });

  complainsAboutNothing();
});

describe('when the bridge is back', () => {
  beforeAll(() => {
    bridge = startBridge(bridge.cwd);
  });

  test('every entity has its value again', async () => {
    for (const topic of ['sonic2mqtt/bridge/state', 'sonic2mqtt/bridge/cloud']) {
      await watcher.waitForTopic(topic, (text) => text === 'online', 20_000);
    }
    expect(await settled(wrongStates)).toEqual([]);
  });

  complainsAboutNothing();
});

describe('after a cleanup', () => {
  beforeAll(async () => {
    await bridge.stop();
    await startProgram(['cleanup'], { cwd: bridge.cwd }).ended();
  });

  test('nothing of the bridge is left in Home Assistant and on the broker', async () => {
    expect(await settled(registeredIds)).toEqual([]);
    const left = await watchTopics(broker.url, ['sonic2mqtt/#', 'homeassistant/device/#']);
    expect([...left.last.keys()]).toEqual([]);
  });

  complainsAboutNothing();
});
