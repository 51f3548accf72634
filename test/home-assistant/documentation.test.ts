import { mkdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { runBuilt } from '../support/callProgram.ts';
import { chromiumAvailable } from '../support/chromium.ts';
import { takePicture } from '../support/pictures.ts';
import { waitFor } from '../support/waitFor.ts';
import {
  type Household,
  newestVersion,
  pictures,
  settled,
  startBridge,
  startHousehold,
  stopHousehold,
  version,
} from './household.ts';
import { addPhone, type Phone } from './phone.ts';

const pages = ['home-assistant', 'automations'].map((name) =>
  readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8'),
);

/** The examples of a kind in all pages. */
function examples(kind: string): object[] {
  const block = new RegExp(`<!-- tested: ${kind} -->\\n+\`\`\`yaml\\n([^]*?)\`\`\``, 'g');
  return pages.flatMap((page) => [...page.matchAll(block)].map(([, yaml = '']) => parse(yaml)));
}

const traces = z.array(
  z.object({ run_id: z.string(), script_execution: z.string().nullable(), state: z.string() }),
);

let household: Household;
let phone: Phone | undefined;

beforeAll(async () => {
  mkdirSync(pictures, { recursive: true });
  household = await startHousehold();
  // The examples send their messages to it.
  phone = await addPhone(household.home, 'My phone');
});

afterAll(async () => {
  phone?.close();
  await stopHousehold(household);
});

describe(`the pages on Home Assistant, with Home Assistant ${version}`, () => {
  test('name entities that are there', async () => {
    const isThere = async () => {
      const states = await household.home.states();
      const named = pages
        .flatMap((page) => [
          ...page.matchAll(/\b(?:valve|(?:binary_)?sensor|switch|select|button|event)\.[a-z0-9_]+/g),
        ])
        .map(([entity]) => entity)
        .filter((entity) => !/^(valve|button|event)\.(close_valve|closed|received|press)$/.test(entity));
      expect(named.length).toBeGreaterThan(20);
      return [...new Set(named)].filter((entity) => !states.has(entity));
    };
    expect(await settled(isThere)).toEqual([]);
  });

  test('have automations that Home Assistant takes', async () => {
    const newer = version === newestVersion ? examples('automation since 2026.7') : [];
    const automations = [...examples('automation'), ...newer];
    expect(automations.length).toBeGreaterThan(3);
    for (const [index, automation] of automations.entries()) {
      await household.home.saveAutomation(`documented_${index}`, automation);
    }
    const running = async () => {
      const states = [...(await household.home.states()).values()].filter(({ entity_id }) =>
        entity_id.startsWith('automation.'),
      );
      const wrong = states.filter(({ state }) => state !== 'on').map(({ entity_id }) => entity_id);
      return states.length === automations.length ? wrong : [`${states.length} automations`];
    };
    expect(await settled(running)).toEqual([]);
  });

  test('have a dashboard that Home Assistant takes', async () => {
    const { home, program } = household;
    const { stdout } = await runBuilt(['dashboard'], { cwd: program.cwd });
    const dashboard = parse(stdout);
    await home.ask('lovelace/dashboards/create', {
      url_path: 'water-house',
      title: 'Water',
      mode: 'storage',
    });
    await home.ask('lovelace/config/save', { url_path: 'water-house', config: dashboard });
    expect(await home.ask('lovelace/config', { url_path: 'water-house' })).toEqual(dashboard);
    if (!chromiumAvailable()) return;
    const text = await takePicture({
      url: `${home.url}/water-house/water`,
      texts: ['Kitchen', 'Close the water', 'Willow Cottage', 'Automatic shut-off'],
      file: `${pictures}dashboard-${version}.png`,
      width: 412,
      height: 900,
    });
    expect(text).not.toMatch(/unknown type|configuration error|not available/i);
  });
});

const sonicId = () => household.cloud.world.sonics.ids[0] ?? '';

async function expectValve(state: string): Promise<void> {
  const shown = async () => {
    const valve = (await household.home.states()).get('valve.kitchen')?.state;
    const outcome = household.watcher.last.get('sonic2mqtt/bridge/event');
    return valve === state ? [] : [`the valve is ${valve} after ${outcome}`];
  };
  expect(await settled(shown)).toEqual([]);
  expect(household.cloud.world.sonics.get(sonicId())?.valve_state).toBe(state);
}

async function openValve(): Promise<void> {
  await household.home.callService('valve', 'open_valve', 'valve.kitchen');
  await expectValve('open');
}

describe.runIf(version === newestVersion)('a voice assistant', () => {
  const say = async (text: string) => {
    const answer = await household.home.ask('conversation/process', { text });
    const type = z.object({ response: z.object({ response_type: z.string() }) });
    return type.parse(answer).response.response_type;
  };

  test('moves a valve only once that is exposed', async () => {
    const { home } = household;
    expect(await say('close Kitchen')).toBe('error');
    await expectValve('open');
    const expose = { assistants: ['conversation'], entity_ids: ['valve.kitchen'] };
    await home.ask('homeassistant/expose_entity', { ...expose, should_expose: true });
    expect(await say('close Kitchen')).toBe('action_done');
    await expectValve('closed');
    await home.ask('homeassistant/expose_entity', { ...expose, should_expose: false });
    await openValve();
  });
});

describe('the automation that closes the valve at a leak', () => {
  const openLeak = () =>
    household.cloud.world.openIncident({ type: 'water_presence_detected', sonicId: sonicId() }).id;

  /** The finished runs of an example. */
  async function reports(index: number) {
    const id = `documented_${index}`;
    const reply = await household.home.ask('trace/list', { domain: 'automation', item_id: id });
    return traces.parse(reply).filter(({ script_execution }) => script_execution === 'finished').length;
  }

  /** What was published to move a valve since the test began, by whomever. */
  let mark = 0;
  const commands = () =>
    household.watcher.messages
      .slice(mark)
      .filter(({ topic }) => topic.endsWith('/valve/set'))
      .map(({ text }) => text);

  beforeEach(() => {
    mark = household.watcher.messages.length;
  });

  const entityIs = async (entityId: string, state: string) =>
    waitFor(async () => (await household.home.states()).get(entityId)?.state === state, {
      what: `${entityId} to be ${state}`,
      timeoutMs: 60_000,
      intervalMs: 200,
    });
  const leakIs = (state: string) => entityIs('binary_sensor.kitchen_leak', state);

  /** Waits until no run is left, and it had the time to begin one. */
  async function expectIdle(): Promise<void> {
    const entityId = 'automation.close_the_kitchen_valve_when_water_is_detected';
    let quietSince = 0;
    const isQuiet = async () => {
      const state = (await household.home.states()).get(entityId);
      if (state?.attributes['current'] !== 0) quietSince = 0;
      else if (quietSince === 0) quietSince = performance.now();
      return quietSince > 0 && performance.now() - quietSince > 3_000;
    };
    await waitFor(isQuiet, { what: 'the automation to be idle', timeoutMs: 90_000, intervalMs: 200 });
  }

  async function restartHomeAssistant(meanwhile: () => void = () => {}): Promise<void> {
    await household.home.stop();
    meanwhile();
    household.home = await household.startHome();
    await leakIs('on');
  }

  test('closes it once, and the triggers of 2026.7 see the leak and the closed valve', async () => {
    const index = examples('automation').length;
    const before = await reports(index);
    openLeak();
    await expectValve('closed');
    await expectIdle();
    expect(commands()).toEqual(['CLOSE']);
    if (version !== newestVersion) return;
    await waitFor(async () => (await reports(index)) === before + 2, {
      what: 'two reports',
      timeoutMs: 60_000,
    });
  });

  test('leaves it open after a person has opened it, when the bridge was away and is back', async () => {
    await openValve();
    await household.program.stop();
    await leakIs('unavailable');
    household.program = startBridge(household.cloud, household.broker, household.program.cwd);
    await leakIs('on');
    await expectIdle();
    await expectValve('open');
    expect(commands()).toEqual(['OPEN']);
  });

  test('closes it again at the next leak, also while the first one is still open', async () => {
    openLeak();
    await expectValve('closed');
    await expectIdle();
    expect(commands()).toEqual(['CLOSE']);
  });

  test('leaves it open after a restart of Home Assistant', async () => {
    await openValve();
    await restartHomeAssistant();
    await expectIdle();
    await expectValve('open');
    expect(commands()).toEqual(['OPEN']);
  });

  test('closes it at a leak that begins while Home Assistant is away', async () => {
    await restartHomeAssistant(openLeak);
    await expectValve('closed');
    await expectIdle();
    expect(commands()).toEqual(['CLOSE']);
  });

  test('closes it when it is available again, though Home Assistant restarts meanwhile', async () => {
    const { world } = household.cloud;
    for (const id of world.incidents.ids) world.closeIncident(id);
    await leakIs('off');
    await openValve();
    mark = household.watcher.messages.length;
    world.changeSonic(sonicId(), { radio_connection: 'disconnected' });
    await entityIs('valve.kitchen', 'unavailable');
    openLeak();
    await leakIs('on');
    await restartHomeAssistant();
    await expectIdle();
    expect(commands()).toEqual([]);
    world.changeSonic(sonicId(), { radio_connection: 'connected' });
    await expectValve('closed');
    await expectIdle();
    expect(commands()).toEqual(['CLOSE']);
  }, 480_000);

  test('can be tested as the page says', async () => {
    const { cloud, home } = household;
    for (const id of cloud.world.incidents.ids) cloud.world.closeIncident(id);
    await leakIs('off');
    await openValve();
    mark = household.watcher.messages.length;
    await home.setState('binary_sensor.kitchen_leak', 'on', { id: 'test' });
    await expectValve('closed');
    await expectIdle();
    expect(commands()).toEqual(['CLOSE']);
    await home.setState('binary_sensor.kitchen_leak', 'off');
    await openValve();
  });

  test.each(['yesterday', '2099-01-01T10:00:00'])('closes it whenever it was: %s', async (detected_at) => {
    const { home } = household;
    await expectIdle();
    await home.setState('binary_sensor.kitchen_leak', 'on', { id: detected_at, detected_at });
    await expectValve('closed');
    await home.setState('binary_sensor.kitchen_leak', 'off');
    await openValve();
  });

  test('Home Assistant complains about nothing', async () => {
    expect(await household.home.complaints()).toEqual([]);
  });
});
