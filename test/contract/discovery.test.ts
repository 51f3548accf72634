import { describe, expect, it } from 'vitest';
import { fieldsOf } from '../../src/cloud/fields.ts';
import { operationRow } from '../../src/cloud/operations.ts';
import { type FieldOperation, requiredOperation } from '../../src/entities/row.ts';
import { entityTable } from '../../src/entities/tables.ts';
import { commandFilters } from '../../src/homeassistant/command.ts';
import { type Discovery, planDiscovery } from '../../src/homeassistant/discovery.ts';
import { planDevice } from '../../src/homeassistant/plan.ts';
import { type DeviceView, deviceKinds } from '../../src/model/devices.ts';
import { availabilityTopics } from '../oracle/discoveredEntities.ts';
import { matches } from '../simulation/virtualBroker.ts';
import { componentsIn, discoveryOf } from '../support/discoveries.ts';
import { discoveryViolations } from '../support/discoveryViolations.ts';
import { attributesShown, attributeViolations, stateViolations } from '../support/stateViolations.ts';
import {
  anIncident,
  bridgeView,
  context,
  propertyView,
  type Situation,
  situations,
  someNotifications,
  sonicView,
  topics,
  wholeHouse,
} from '../support/views.ts';

// What the bridge says of itself stands beside; golden.test.ts shows the real one.
const health = JSON.stringify({ status: 'ok', reason: null, schedules: {}, limited_until: null });

/** What is retained for a device, with what the bridge retains of itself. */
function planned(view: DeviceView, { offers }: Pick<Situation, 'offers'>) {
  const { discovery: plan, messages } = planDevice(view, { ...context, offers });
  if (!plan) throw new Error('Home Assistant is switched on here');
  const discovery = plan();
  const retained = new Map([
    [topics.bridge('state'), 'online'],
    [topics.bridge('cloud'), 'offline'],
    [topics.bridge('health'), health],
    [topics.bridge('info'), JSON.stringify({ appliance_categories: null })],
    ...messages.map(({ topic, payload }) => [topic, payload] as const),
  ]);
  return {
    topic: discovery.topic,
    discovery: JSON.parse(discovery.write()) as Discovery,
    retained,
  };
}

it('a device in whatever situation is announced by the rules, and its documents hold what is read', () => {
  const found = situations.flatMap(({ name, views, offers }) =>
    views.flatMap((view) => {
      const { topic, discovery, retained } = planned(view, { offers });
      const components = Object.entries(componentsIn(discovery));
      const needed = new Set(components.flatMap(([, component]) => availabilityTopics(component)));
      const wrong = [
        ...discoveryViolations(topic, JSON.stringify(discovery)),
        ...components.flatMap(([id, component]) => stateViolations(id, component, retained)),
        ...components.flatMap(([id, component]) => attributeViolations(id, component, retained)),
        ...[...needed].filter((each) => !/^(online|offline)$/.test(retained.get(each) ?? '')),
      ];
      return wrong.map((words) => `a ${view.kind} with ${name}: ${words}`);
    }),
  );
  expect(found).toEqual([]);
});

it('a message has the fingerprint of another only if it is the same', () => {
  const messages = situations.flatMap(({ views, offers }) =>
    views.map((view) => planDiscovery(view, offers, context)),
  );
  const texts = new Map<string, string>();
  for (const { topic, fingerprint, write } of messages) {
    const text = write();
    expect(texts.get(`${topic} ${fingerprint}`) ?? text).toBe(text);
    texts.set(`${topic} ${fingerprint}`, text);
  }
  expect(new Set(texts.values()).size).toBe(texts.size);
});

describe('all discovery messages together', () => {
  const components = wholeHouse.flatMap((view) => {
    const { discovery } = planned(view, context);
    return Object.entries(componentsIn(discovery)).map(([id, component]) => ({
      view,
      id,
      component,
    }));
  });

  it('name no unique id twice and no device twice', () => {
    const ids = components.map(({ component }) => component['unique_id']);
    expect(new Set(ids).size).toBe(ids.length);
    const devices = wholeHouse.flatMap((view) => planned(view, context).discovery.device['identifiers']);
    expect(new Set(devices).size).toBe(wholeHouse.length);
  });

  it('name as parents only devices that are announced', () => {
    const devices = wholeHouse.map((view) => planned(view, context).discovery.device);
    const known = devices.flatMap(({ identifiers }) => identifiers);
    const parents = devices.map(({ via_device: parent }) => parent);
    expect(parents).toEqual([undefined, ...known.slice(0, 3)]);
  });

  const ofCloud = [topics.bridge('state'), topics.bridge('cloud')];

  it('keep entities that tell of links and incidents independent of their own device', () => {
    const independent = components.filter(
      ({ view, component, id }) =>
        view.kind !== 'bridge' &&
        (component['device_class'] === 'connectivity' ||
          /incident|problem_?$|severity/.test(id.replace('valve_problem', ''))),
    );
    expect(independent.length).toBeGreaterThan(25);
    for (const { id, component } of independent) {
      expect([id, availabilityTopics(component)]).toEqual([id, ofCloud]);
    }
  });

  it('never ask for a command to be retained, nor take one where something is retained', () => {
    const retained = wholeHouse.flatMap((view) => [...planned(view, context).retained.keys()]);
    for (const { component } of components) {
      if (component['command_topic'] === undefined) continue;
      expect(component['retain']).toBe(false);
      expect(retained).not.toContain(component['command_topic']);
    }
  });

  it('name for each command a topic that is subscribed to, and no two filters take one topic', () => {
    const filters = commandFilters(topics);
    const matching = (topic: string) => filters.filter((filter) => matches(filter, topic));
    for (const { component } of components) {
      const topic = component['command_topic'];
      if (topic !== undefined)
        expect([topic, matching(String(topic))]).toEqual([topic, [expect.any(String)]]);
    }
    const examples = filters.map((filter) => filter.replaceAll('+', 'x'));
    for (const topic of examples) expect([topic, matching(topic).length]).toEqual([topic, 1]);
    for (const topic of examples) {
      expect([topic, topics.stateFilters.filter((filter) => matches(filter, topic))]).toEqual([topic, []]);
    }
  });

  it('keep nothing where no filter finds it at the next start', () => {
    for (const view of wholeHouse) {
      if (view.kind === 'bridge') continue;
      for (const { topic } of planDevice(view, context).messages) {
        expect([topic, topics.stateFilters.filter((filter) => matches(filter, topic)).length]).toEqual([
          topic,
          1,
        ]);
      }
    }
  });

  it('offer in each select what is chosen now, in the order of numbers', () => {
    const at = (litres: number | null) => {
      const view = propertyView({
        notifications: someNotifications({ high_volume_threshold_litres: litres }),
      });
      return planned(view, context).discovery.components['select_high_volume_threshold_litres']?.['options'];
    };
    const published = [25, 50, 75, 100, 150, 200, 250, 300, 400, 500, 600, 800, 1000].map(String);
    expect(at(150)).toEqual(published);
    expect(at(null)).toEqual(published);
    expect(at(120)).toEqual([...published.slice(0, 4), '120', ...published.slice(4)]);
    expect(at(2000)).toEqual([...published, '2000']);
  });

  it('offer no control where nothing may be changed, but still what the bridge is asked itself', () => {
    const left = wholeHouse.flatMap((view) => {
      const { components: offered } = discoveryOf(view, { offers: () => false });
      return Object.keys(offered).filter((id) => 'command_topic' in (offered[id] ?? {}));
    });
    expect(left).toEqual(['button_refresh', 'select_log_level', 'button_dismiss_failure']);
  });
});

describe('the attributes of an incident sensor', () => {
  const incident = anIncident({ type: 'long_flow_alert', note: 'kept' });
  const template = (view: DeviceView, id: string) => {
    const { discovery, retained } = planned(view, context);
    const component = discovery.components[id] ?? {};
    const document = JSON.parse(retained.get(String(component['json_attributes_topic'])) ?? '');
    const expression = /\((.+)\)/.exec(String(component['json_attributes_template']))?.[1] ?? '';
    return attributesShown(expression, document);
  };

  it('are the record, but for its state, which Home Assistant keeps for itself', () => {
    const { state: _state, ...shown } = incident;
    const view = sonicView({ incidents: [incident] });
    expect(template(view, 'binary_sensor_incident_long_flow_alert')).toEqual(shown);
    expect(template(view, 'binary_sensor_incident_high_volume_alert')).toEqual({});
  });
});

describe.each(deviceKinds)('the entities of a %s', (kind) => {
  const view = wholeHouse.find((each) => each.kind === kind) ?? bridgeView();
  const components = componentsIn(planned(view, context).discovery);

  it('have keys and names that are there once, since keys are unique ids and names become entity ids', () => {
    const keys = entityTable(kind).map(({ key }) => key);
    const names = entityTable(kind).map(({ name }) => name?.toLowerCase());
    expect(new Set(keys).size).toBe(keys.length);
    expect(new Set(names).size).toBe(names.length);
  });

  it('have names in sentence case without the name of the device, and keys that a template can read', () => {
    for (const { key, name } of entityTable(kind)) {
      expect(key).toMatch(/^[a-z]+(_[a-z]+)*$/);
      expect(name ?? 'Main').toMatch(
        /^(?!Bridge|Property|Signal|Sonic)(Wi-Fi|[A-Z][a-z]+)([ -][a-z]+)*( \((L|min)\))?$/,
      );
    }
  });

  it('set only fields that the body of their operation names', () => {
    const views = situations.flatMap((each) => each.views).filter((each) => each.kind === kind);
    for (const row of entityTable(kind)) {
      if (!('command' in row && 'field' in row.command)) continue;
      const { operation, field } = row.command;
      for (const each of views) {
        const needed = requiredOperation<DeviceView, FieldOperation>(operation, each);
        const names = fieldsOf(operationRow(needed).body).fields.map(({ name }) => name);
        const how = `the row ${row.key} sets ${field}, which the body of ${needed} lacks: src/cloud/bodies.ts`;
        expect(names, how).toContain(field);
      }
    }
  });

  it('are among settings and diagnostics where few look at them', () => {
    for (const [id, component] of Object.entries(components)) {
      const isRare = component['enabled_by_default'] === false;
      expect([id, isRare && component['entity_category'] === undefined]).toEqual([id, false]);
    }
  });

  it('have at most one battery, which Home Assistant shows as that of the device', () => {
    const classes = Object.values(components).map((component) => component['device_class']);
    expect(classes.filter((each) => each === 'battery').length).toBeLessThan(2);
  });
});

it('the valve is the only main entity there is', () => {
  const main = deviceKinds.flatMap((kind) => entityTable(kind).filter(({ name }) => name === null));
  expect(main.map(({ key }) => key)).toEqual(['valve']);
});

it.each(wholeHouse)('the documents of a $kind have each key always, whatever is known', (view) => {
  const documents = (each: DeviceView | undefined) =>
    (each ? planDevice(each, context).messages : [])
      .filter(({ payload }) => payload.startsWith('{'))
      .map(({ topic, payload }) => [topic, Object.keys(JSON.parse(payload))]);
  const unknown = situations.find(({ name }) => name === 'nothing is known');
  const poor = documents(unknown?.views.find(({ kind }) => kind === view.kind));
  expect(poor).not.toEqual([]);
  expect(documents(view)).toEqual(expect.arrayContaining(poor));
});

describe('the judge of discovery messages', () => {
  const { topic, discovery } = planned(sonicView(), context);
  type Tree = { [key: string]: Tree };

  /** The judgement of the sonic's message with one value replaced; undefined takes the key away. */
  function judged(path: string, value: unknown): string[] {
    const changed = JSON.parse(JSON.stringify(discovery)) as Tree;
    const keys = path.split('.');
    const last = keys.pop() ?? '';
    const parent = keys.reduce<Tree>((tree, key) => tree[key] ?? {}, changed);
    Object.assign(parent, { [last]: value });
    return discoveryViolations(topic, JSON.stringify(changed));
  }

  const spoilt: readonly (readonly [what: string, path: string, value: unknown])[] = [
    ['an unknown key at the root', '~', 'sonic2mqtt'],
    ['the old object_id', 'components.valve_valve.object_id', 'kitchen'],
    ['a misspelt key', 'components.sensor_flow.unit_of_messurement', 'L/min'],
    ['a key of another platform', 'components.button_resolve_incidents.state_class', null],
    ['no platform', 'components.sensor_flow.platform', undefined],
    ['a platform that is too new', 'components.sensor_flow.platform', 'time'],
    ['no unique id', 'components.sensor_flow.unique_id', undefined],
    ['no name', 'components.sensor_flow.name', undefined],
    ['null in the device', 'device.serial_number', null],
    ['an empty text in the device', 'device.name', ''],
    ['half an emoji', 'device.name', 'tap \ud83d'],
    ['a device without identifiers', 'device.identifiers', []],
    ['a device above itself', 'device.via_device', 'sonic2mqtt_sonic-1'],
    ['no origin', 'origin', undefined],
    ['a support address that is none', 'origin.support_url', 'example.com'],
    ['the default availability mode', 'availability_mode', 'latest'],
    ['two kinds of availability', 'availability_topic', 'sonic2mqtt/bridge/state'],
    ['a topic that counts twice', 'availability', [{ topic: 'a/b' }, { topic: 'a/b' }]],
    ['mixed availability', 'components.sensor_flow.availability_topic', 'a/b'],
    ['a wildcard in a topic', 'components.sensor_flow.state_topic', 'a/+/b'],
    ['a sensor in the category config', 'components.sensor_flow.entity_category', 'config'],
    ['a unit of another class', 'components.sensor_pressure.unit_of_measurement', 'psig'],
    ['a state class of another class', 'components.sensor_flow.state_class', 'total'],
    ['an unknown class', 'components.sensor_flow.device_class', 'flow'],
    ['options without the class enum', 'components.sensor_status.options', ['a']],
    ['the class enum without options', 'components.sensor_battery.options', undefined],
    ['an option that is there twice', 'components.sensor_battery.options', ['low', 'low']],
    ['a precision of a text', 'components.sensor_status.suggested_display_precision', 1],
    ['an icon without its colon', 'components.sensor_status.icon', 'mdi-valve'],
    ['a valve with positions', 'components.valve_valve.reports_position', true],
    ['a retained command', 'components.valve_valve.retain', true],
    ['a text that has no word for unknown', 'components.text_name.pattern', '^.+$'],
    ['a text that must be longer than nothing', 'components.text_name.min', 1],
    ['a text of more than 255 characters', 'components.text_name.max', 256],
    ['a pattern that cannot be read', 'components.text_name.pattern', '('],
    ['a press that sends nothing', 'components.button_resolve_incidents.payload_press', ''],
    ['a component id with a space', 'components.sensor flow', { platform: 'sensor' }],
    ['a component id of another platform', 'components.sensor_x', { platform: 'button' }],
    ['a default entity id without its domain', 'components.valve_valve.default_entity_id', 'kitchen'],
    ['a message of 64 kB', 'device.model', 'x'.repeat(65_536)],
  ];

  it('notices each of these', () => {
    const missed = spoilt.filter(([, path, value]) => judged(path, value).length === 0);
    expect(missed).toEqual([]);
  });

  it('notices a topic that Home Assistant ignores', () => {
    expect(discoveryViolations('homeassistant/device/küche/config', JSON.stringify(discovery))).toHaveLength(
      1,
    );
  });
});
