import { runNightlyTests } from '../../src/simulator/pressureTests.ts';
import { seededRandom } from '../../src/simulator/random.ts';
import type { Home } from './home.ts';
import { tell } from './words.ts';

const kept = new WeakMap<Home, ReadonlyMap<string, string>>();

/** What is shown but for words about the bridge, the cloud and links. The summary says that there is no connection. */
const statesOf = ({ broker: { retained } }: Home) =>
  new Map(
    [...retained]
      .filter(([topic]) => !/\/bridge\/|\/availability$/.test(topic))
      .map(([topic, payload]) => [topic, payload.replace(/"summary":"[^"]*"/, '')]),
  );

const entitiesIn = (text = '{}') =>
  Object.keys(JSON.parse(text).components ?? {}).filter((id) => !/auto_shut_off/.test(id));

tell(import.meta.url, {
  nightly: ({ world }) => void runNightlyTests(world, seededRandom(7)),
  /** All that the valve was shown as, in its record and in Home Assistant. */
  shown: (home) => {
    const paths = [`sonic/${home.sonicId}`, `sonic/${home.sonicId}/homeassistant`];
    const all = paths.flatMap((path) => home.published(path).map(({ payload }) => JSON.parse(payload).valve));
    return `shown as ${[...new Set(all)].map(String).join(' and ')}`;
  },
  keep: (home) => void kept.set(home, statesOf(home)),
  changed: (home) => {
    const before = kept.get(home);
    const changes = [...statesOf(home)].filter(([topic, text]) => before?.get(topic) !== text);
    return `changed: ${changes.map(([topic]) => topic)}`;
  },
  app: ({ world, sonicId }, action) => world.commandValve(sonicId, action as 'open'),
  birth: ({ broker }) => broker.publish('homeassistant/status', 'online', false),
  retain: ({ broker, sonicId }, path, payload = '') =>
    void broker.retained.set(`sonic2mqtt/sonic/${sonicId}/${path}`, payload),
  clear: ({ broker, sonicId }) => broker.publish(`sonic2mqtt/sonic/${sonicId}/valve/set`, '', true),
  remedy: ({ lines }) => `${lines.some(({ text }) => /clear/i.test(text)) ? 'a' : 'no'} remedy is said`,
  commanding: ({ broker }) => {
    const discoveries = [...broker.retained].filter(([topic]) => topic.startsWith('homeassistant/'));
    const components = discoveries.flatMap(([, payload]) =>
      Object.values<Record<string, unknown>>(JSON.parse(payload).components),
    );
    const isCommanding = (component: Record<string, unknown>) =>
      /\/valve\/set$/.test(String(component['command_topic']));
    return `commanding: ${components.filter(isCommanding).map(({ platform }) => platform)}`;
  },
  request: ({ broker }, operation, params = '', action = '') => {
    const payload = { params: JSON.parse(params), ...(action && { body: { action } }) };
    broker.publish(`sonic2mqtt/bridge/request/${operation}`, JSON.stringify(payload), false);
  },
  strip: ({ world, sonicId }) => {
    const { id, signal_id } = world.sonics.get(sonicId) ?? {};
    world.sonics.set(sonicId, { id, signal_id, radio_connection: 'connected' } as never);
  },
  entities: (home) => {
    const topic = `homeassistant/device/sonic2mqtt_${home.sonicId}/config`;
    const now = entitiesIn(home.broker.retained.get(topic));
    return `lost entities: ${entitiesIn(kept.get(home)?.get(topic)).filter((id) => !now.includes(id))}`;
  },
});
