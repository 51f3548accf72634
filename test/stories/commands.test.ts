import { expect } from 'vitest';
import { operationRow } from '../../src/cloud/operations.ts';
import { changingCommands } from '../support/commandTable.ts';
import { msOf } from '../support/script.ts';
import { type Home, minuteMs, secondMs } from './home.ts';
import { tell } from './words.ts';

/** The truth before the commands, and how many requests they have made. */
const kept = new WeakMap<Home, { readonly truth: string; readonly commanded: number }>();

/** The requests that change something. */
const changesOf = (home: Home) =>
  home.requests.filter(({ operation }) => {
    const row = operation && operationRow(operation);
    return row && row.retry === 'never' && !row.session;
  });

/** The state of everything that a command could have changed. */
const truthOf = ({ world }: Home) =>
  JSON.stringify([
    [...world.sonics.values()].map(({ name, valve_state }) => [name, valve_state]),
    [...world.signals.values()].map(({ name }) => name),
    [...world.properties.values()],
    [...world.incidents.values()],
    world.properties.ids.map((id) => [world.settings.get(id), world.notifications.get(id)]),
  ]);

tell(import.meta.url, {
  /** Makes something to do for each kind of command, and shows all of it. */
  stage: async (home) => {
    const { world } = home;
    const [first = '', second = ''] = world.signals.ids;
    const [sonicId = ''] = world.thingIdsOf(world.propertyOf(first) ?? '');
    const [elsewhere = ''] = world.thingIdsOf(world.propertyOf(second) ?? '');
    world.openIncident({ type: 'low_temperature', sonicId });
    world.openIncident({ type: 'cloud_disconnection', signalId: first });
    world.openIncident({ type: 'legionella_risk', sonicId: elsewhere });
    await home.start();
    await home.pass(2 * minuteMs);
  },
  keep: (home) => void kept.set(home, { truth: truthOf(home), commanded: 0 }),
  trouble: (home, what = '') => {
    const headers = what === 'wait' ? { 'retry-after': '60' } : {};
    const answer = { status: what === 'wait' ? 429 : 503, headers, text: '{}' };
    home.strike = () => (what === 'ok' ? null : /^(503|wait)$/.test(what) ? answer : (what as 'refused'));
  },
  /** Publishes one command of each kind, and lets the time pass in which each must have its outcome. */
  all: async (home) => {
    const commands = changingCommands({ cloud: home.simulator });
    for (const { topic, payload } of commands) home.broker.publish(topic, String(payload), false);
    await home.pass(minuteMs);
    const outcomes = home.events('command').slice(-commands.length);
    const topics = outcomes.map(({ topic }) => String(topic));
    expect(topics.toSorted()).toEqual(commands.map(({ topic }) => topic).toSorted());
    const { truth = '' } = kept.get(home) ?? {};
    kept.set(home, { truth, commanded: changesOf(home).length });
    const statuses = outcomes.map(({ status, http_status: code, reason }) =>
      [status, code, status === 'ok' || reason ? null : 'without a reason'].filter(Boolean).join(' '),
    );
    return `${commands.length} kinds: ${[...new Set(statuses)].toSorted().join(', ')}`;
  },
  /** How often something that the cloud may have done was asked once more. */
  twice: (home) => {
    const sent = changesOf(home).filter(({ status }) => status !== 401 && status !== 429);
    const others = new Set(sent.map(({ target, body }) => target + body));
    return `${sent.length - others.size} sent twice`;
  },
  changed: (home) => {
    const { truth, commanded = 0 } = kept.get(home) ?? {};
    const late = changesOf(home).length - commanded;
    return `${truthOf(home) === truth ? 'nothing' : 'something'} has changed, ${late} sent since`;
  },
  password: (home, password) => home.simulator.setPassword(password ?? null),
  expire: (home) => home.simulator.expireTokens(),
  /** So many valves are told to close or open in turn, so many times a second apart: the longest wait for a vital list. */
  flood: async (home, valves = '', rounds = '', rest = '') => {
    const from = home.time.now;
    for (let round = 0; round < Number(rounds); round++) {
      for (const id of home.world.sonics.ids.slice(0, Number(valves)))
        home.broker.publish(`sonic2mqtt/sonic/${id}/valve/set`, round % 2 === 0 ? 'CLOSE' : 'OPEN', false);
      await home.pass(secondMs);
    }
    await home.pass(msOf(rest) ?? 0);
    for (const operation of ['list_incidents', 'list_sonics', 'list_wifi_sonics'] as const) {
      const times = [from, ...home.asked(operation).map(({ at }) => at), home.time.now];
      const gaps = times.slice(1).map((at, index) => at - Math.max(from, times[index] ?? 0));
      expect(Math.max(...gaps), operation).toBeLessThan(minuteMs + 5 * secondMs);
    }
  },
  shown: (home) => {
    const valves = home.published(`sonic/${home.sonicId}`).map(({ payload }) => JSON.parse(payload).valve);
    return `shown as ${[...new Set(valves)].join(', ')}`;
  },
  deliver: async (home, payload = '', messageId = '', again = '') => {
    const topic = `sonic2mqtt/sonic/${home.sonicId}/valve/set`;
    const packet = { topic, payload, messageId: Number(messageId), dup: again !== '' };
    for (const connection of home.wire.connections)
      connection.toBridge({ cmd: 'publish', qos: 1, retain: false, ...packet });
    await home.pass(minuteMs);
  },
});
