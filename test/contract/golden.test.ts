import { beforeAll, describe, expect, it } from 'vitest';
import { version } from '../../src/base/version.ts';
import { entityTable } from '../../src/entities/tables.ts';
import { dashboardText, readDiscovered } from '../../src/homeassistant/dashboard.ts';
import { componentId, type Discovery } from '../../src/homeassistant/discovery.ts';
import { deviceKinds } from '../../src/model/devices.ts';
import { Home, minuteMs } from '../stories/home.ts';
import { componentsIn, withoutStubs } from '../support/discoveries.ts';
import { discoveryViolations } from '../support/discoveryViolations.ts';
import { attributeViolations, stateViolations } from '../support/stateViolations.ts';
import { topics } from '../support/views.ts';

// What a demo home looks like from outside, word for word: the whole bridge runs on virtual time with everything that
// comes by chance from a seed, so each run publishes the same. Whatever is rebuilt inside, these files stay.
const howToUpdate =
  'Something that users see is not what the files in test/contract/golden/ say. A unique id and a component id (a key of ' +
  '`components`) must never change: that breaks dashboards and automations. If it is meant, run ' +
  '`npx vitest run test/contract/golden.test.ts --update`, read the difference, and commit it with its line in CHANGELOG.md';

/** Keys whose values depend on the moment at which the bridge polled. */
const passing = new Set([
  ...[
    'instance_id',
    'at',
    'started_at',
    'last_update',
    'last_success',
    'updated_at',
    'snoozed_until',
    'moved_at',
    'asked_at',
  ],
  ...['requests_last_hour', 'consecutive_failures', 'valve_travel_time', 'valve_travel_time_s'],
]);

/** A payload, as JSON where it is some, without what is another in each release or run. */
function readable(payload: string): unknown {
  const withoutPassing = (key: string, value: unknown) => {
    if (value === version) return '(version)';
    return passing.has(key) && value !== 0 && value !== null ? `(${typeof value})` : value;
  };
  return /^[[{]/.test(payload) ? JSON.parse(payload, withoutPassing) : payload;
}

async function expectFile(name: string, content: unknown): Promise<void> {
  const text = `${JSON.stringify(content, null, 2)}\n`;
  await expect(text, howToUpdate).toMatchFileSnapshot(`golden/${name}.json`);
}

const discoveryTopic = (id: string) => `homeassistant/device/sonic2mqtt_${id}/config`;

/** The retained messages by topic, without the discovery messages. */
function stateOf(retained: ReadonlyMap<string, string>): Record<string, unknown> {
  const states = [...retained].filter(([topic]) => topic.startsWith('sonic2mqtt/'));
  return Object.fromEntries(states.map(([topic, payload]) => [topic, readable(payload)] as const).toSorted());
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The parts that are different after a change: for an object its keys, for anything else all of it. */
function changed(before: unknown, after: unknown): unknown {
  if (!isObject(before) || !isObject(after)) return after;
  const keys = [...new Set([...Object.keys(after), ...Object.keys(before)])];
  const different = keys.filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));
  return Object.fromEntries(
    different.map((key) => [key, key in after ? changed(before[key], after[key]) : '(gone)']),
  );
}

const home = new Home({ cloud: { sonics: 2, wifiSonics: 1 }, config: { schedules: {} } });
const [kitchen = '', bathroom = '', mains = ''] = home.world.thingIds;
const { propertyId, signalId } = home;

/** What is retained when all is well, after commands and incidents, and while the cloud is away. */
const records: Map<string, string>[] = [];

beforeAll(async () => {
  const { broker } = home;
  const record = () => records.push(new Map(broker.retained));
  const command = (path: string, payload: string) => broker.publish(`sonic2mqtt/${path}`, payload, false);

  await home.start();
  await home.pass(2 * minuteMs);
  record();

  command(`sonic/${kitchen}/valve/set`, 'CLOSE');
  command(`sonic/${kitchen}/valve/set`, 'ajar');
  command(`property/${propertyId}/leak_protection/set`, 'ON');
  command(`property/${propertyId}/settings/pressure_tests_schedule/set`, '04:30:00');
  command(`property/${propertyId}/notifications/high_volume_threshold_litres/set`, '250');
  command(`signal/${signalId}/name/set`, 'Cellar hub');
  command(`sonic/${mains}/pressure_test/start`, 'PRESS');
  command(
    'bridge/request/read_sonic',
    JSON.stringify({ params: { sonic_id: bathroom }, transaction: 'mine' }),
  );
  command('bridge/request/read_signal', '{"params":{}}');
  const { id } = home.world.openIncident({ type: 'low_temperature', sonicId: mains });
  home.world.dropRadio(bathroom);
  await home.pass(2 * minuteMs);
  command(`incident/${id}/action`, 'snooze');
  await home.pass(2 * minuteMs);
  record();

  home.strike = () => 'refused';
  await home.pass(60 * minuteMs);
  record();
  home.bridge.kill();
});

describe('the demo home', () => {
  const discovery = (id: string) =>
    withoutStubs(readable(records[0]?.get(discoveryTopic(id)) ?? '') as Discovery);

  it('retains what users read, with a discovery message of each kind, as in the file', async () => {
    const ids = ['bridge', propertyId, signalId, kitchen];
    const discoveries = ids.map((id) => [discoveryTopic(id), discovery(id)]);
    await expectFile('retained', { ...Object.fromEntries(discoveries), ...stateOf(records[0] ?? new Map()) });
  });

  it.each(deviceKinds)('has every entity of the table of a %s', (kind) => {
    const id = { bridge: 'bridge', property: propertyId, signal: signalId, sonic: kitchen }[kind];
    const rows: readonly Parameters<typeof componentId>[0][] = entityTable(kind);
    expect(Object.keys(discovery(id).components)).toEqual(rows.map(componentId));
  });

  it('announces the other valves like the first', () => {
    const asKitchen = (id: string, name: string) => {
      const { device, ...others } = discovery(id);
      const idPart = name.toLowerCase();
      const text = JSON.stringify(others).replaceAll(id, kitchen).replaceAll(`.${idPart}`, '.kitchen');
      return changed(discovery(kitchen), { device, ...JSON.parse(text) });
    };
    const fieldsOf = (id: string) => Object.keys(home.json(`sonic/${id}`));
    const lacking = fieldsOf(kitchen).filter((field) => !fieldsOf(bathroom).includes(field));
    expect(lacking).toContain('auto_shut_off_enabled');
    const gone = Object.keys(discovery(kitchen).components).filter((id) =>
      lacking.some((field) => id.endsWith(field)),
    );
    expect(asKitchen(bathroom, 'Bathroom')).toEqual({
      device: { identifiers: [`sonic2mqtt_${bathroom}`], name: 'Bathroom', serial_number: expect.anything() },
      components: Object.fromEntries(gone.map((id) => [id, '(gone)'])),
    });
    expect(asKitchen(mains, 'Mains')).toEqual({
      device: {
        ...{ identifiers: [`sonic2mqtt_${mains}`], name: 'Mains', serial_number: expect.anything() },
        via_device: `sonic2mqtt_${propertyId}`,
      },
    });
  });

  it('makes the dashboard as in the file', async () => {
    const found = ['bridge', propertyId, signalId, kitchen, mains].map((id) =>
      readDiscovered(records[0]?.get(discoveryTopic(id)) ?? '', topics),
    );
    const text = dashboardText(
      found.filter((device) => device !== null),
      'en',
    );
    await expect(text, howToUpdate).toMatchFileSnapshot('golden/dashboard.yaml');
  });

  it('changes these values by commands and incidents, and without the cloud', async () => {
    const [well = {}, busy = {}, alone = {}] = records.map(stateOf);
    await expectFile('retainedAfterCommands', changed(well, busy));
    await expectFile('retainedWithoutCloud', changed(busy, alone));
  });

  it('says what happens as in the file', async () => {
    const commands = /\/(set|start|action)$|\/request\//;
    const passed: Record<string, unknown[]> = {};
    for (const { topic, payload, retain } of home.messages) {
      if (retain || commands.test(topic)) continue;
      passed[topic] = [...(passed[topic] ?? []), readable(payload)];
    }
    // Commands to different devices are carried out at the same time, and in any order.
    const inOrder = (messages: unknown[]) =>
      messages.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    const topics = Object.keys(passed).toSorted();
    await expectFile(
      'events',
      Object.fromEntries(topics.map((topic) => [topic, inOrder(passed[topic] ?? [])])),
    );
  });

  it('is what Home Assistant takes, at each of these moments', () => {
    for (const retained of records) {
      const announced = [...retained].filter(([topic]) => topic.startsWith('homeassistant/'));
      expect(announced).toHaveLength(6);
      for (const [topic, payload] of announced) {
        expect(discoveryViolations(topic, payload)).toEqual([]);
        for (const [id, component] of Object.entries(componentsIn(JSON.parse(payload)))) {
          expect(stateViolations(id, component, retained)).toEqual([]);
          expect(attributeViolations(id, component, retained)).toEqual([]);
          for (const { topic: needed } of component['availability'] as { topic: string }[]) {
            expect([needed, retained.get(needed)]).toEqual([
              needed,
              expect.stringMatching(/^(online|offline)$/),
            ]);
          }
        }
      }
    }
  });
});
