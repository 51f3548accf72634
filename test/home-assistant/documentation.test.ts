import { mkdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { runBuilt } from '../support/callProgram.ts';
import { chromiumAvailable } from '../support/chromium.ts';
import { inPage, takePicture } from '../support/pictures.ts';
import { waitFor } from '../support/waitFor.ts';
import {
  becomes,
  type Household,
  newestVersion,
  pictures,
  settled,
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
      expect(named.length).toBeGreaterThan(10);
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
    const heading = `(${inPage('hui-heading-card')})?.shadowRoot.querySelector('.content')`;
    const text = await takePicture({
      // The first view lists the properties, and the heading of each leads to its own view.
      url: `${home.url}/water-house`,
      presses: [heading],
      texts: ['Kitchen', 'Close the water', 'Willow Cottage', 'Automatic shut-off'],
      file: `${pictures}dashboard-${version}.png`,
      width: 412,
      height: 900,
    });
    expect(text).not.toMatch(/unknown type|configuration error|not available/i);
  });
});

const fields = z.record(z.string(), z.unknown()).optional();
const tapAction = z.object({ perform_action: z.string().optional(), target: fields, data: fields });
const card = z.object({ name: z.string().optional(), tap_action: tapAction.optional() });
const dashboardSchema = z.object({
  views: z.array(z.object({ path: z.string(), sections: z.array(z.object({ cards: z.array(card) })) })),
});

test('the dashboard has buttons for a pause that need no administrator', async () => {
  const { home } = household;
  const { views } = dashboardSchema.parse(await home.ask('lovelace/config', { url_path: 'water-house' }));
  const cards =
    views.find(({ path }) => path === 'water')?.sections.flatMap((section) => section.cards) ?? [];
  /** Does what the button with this name does. */
  const press = async (name: string) => {
    const { perform_action = '', target, data } = cards.find((each) => each.name === name)?.tap_action ?? {};
    await home.actAsFamilyMember(perform_action, { ...target, ...data });
  };
  const shutOff = 'switch.willow_cottage_automatic_shut_off';
  const minutes = 'number.willow_cottage_pause_automatic_shut_off';
  await home.callService('switch', 'turn_on', shutOff);
  await entityIs(shutOff, 'on');
  await press('30 min');
  await entityIs(minutes, '30');
  await entityIs(shutOff, 'off');
  await press('Resume automatic shut-off');
  await entityIs(minutes, '0');
  await entityIs(shutOff, 'on');
  await home.callService('switch', 'turn_off', shutOff);
  // The oldest one lets everyone publish.
  if (version !== newestVersion) return;
  const publish = home.actAsFamilyMember('mqtt.publish', { topic: 'anything', payload: '' });
  await expect(publish).rejects.toThrow(/unauthorized/i);
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

const entityIs = (entityId: string, state: string) => becomes(household, entityId, state);

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

describe('the examples', () => {
  const nameOf = z.object({ alias: z.string() });

  /** The index of an example, which is in its ID. */
  const indexOf = (name: string) =>
    examples('automation').findIndex((each) => nameOf.parse(each).alias === name);

  /** The finished runs of an example. */
  async function reports(index: number) {
    const reply = await household.home.ask('trace/list', {
      domain: 'automation',
      item_id: `documented_${index}`,
    });
    return traces.parse(reply).filter(({ script_execution }) => script_execution === 'finished').length;
  }

  /** Runs an example without its trigger, and waits for its message. */
  async function messageOf(name: string, id: string, wanted: RegExp): Promise<void> {
    const entityId = `automation.${name.toLowerCase().replaceAll(' ', '_')}`;
    expect(indexOf(name)).toBeGreaterThanOrEqual(0);
    await household.home.callService('automation', 'trigger', entityId);
    const messages = z.array(z.object({ notification_id: z.string(), message: z.string() }));
    const isShown = async () =>
      messages
        .parse(await household.home.ask('persistent_notification/get'))
        .some(({ notification_id, message }) => notification_id === id && wanted.test(message));
    await waitFor(isShown, { what: `${id} with ${wanted}`, timeoutMs: 180_000, intervalMs: 200 });
  }

  test('for a holiday closes the valve, and says whether it did', async () => {
    const name = 'Close the water while nobody is at home';
    await messageOf(name, 'kitchen_holiday', /^The kitchen valve is closed\.$/);
    await expectValve('closed');
    await openValve();
  });

  test('for frost and weak batteries have messages that Home Assistant can write', async () => {
    await messageOf('The water is close to freezing', 'kitchen_frost', /^[\d.]+ °C at the kitchen valve\.$/);
    const { world } = household.cloud;
    world.changeSonic(sonicId(), { battery: 'low' });
    await entityIs('binary_sensor.kitchen_battery_low', 'on');
    await messageOf('The kitchen valve needs new batteries', 'kitchen_battery', /^The battery is low\.$/);
    world.changeSonic(sonicId(), { battery: 'high' });
  });

  test.runIf(version === newestVersion)(
    'with the triggers of 2026.7 report a leak and the closed valve',
    async () => {
      const index = examples('automation').length;
      const before = await reports(index);
      const { world } = household.cloud;
      const { id } = world.openIncident({ type: 'water_presence_detected', sonicId: sonicId() });
      await entityIs('binary_sensor.kitchen_leak', 'on');
      await household.home.callService('valve', 'close_valve', 'valve.kitchen');
      await expectValve('closed');
      await waitFor(async () => (await reports(index)) === before + 2, {
        what: 'two reports',
        timeoutMs: 180_000,
      });
      world.closeIncident(id);
      await openValve();
    },
  );

  test('Home Assistant complains about nothing', async () => {
    expect(await household.home.complaints()).toEqual([]);
  });
});
