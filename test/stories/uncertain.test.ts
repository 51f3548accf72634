import { describe, expect, it } from 'vitest';
import { incidentTypes } from '../../src/model/records.ts';
import type { Strike } from '../simulation/virtualCloud.ts';
import type { VirtualDisk } from '../simulation/virtualDisk.ts';
import { Home, type HomeOptions, minuteMs } from './home.ts';

const type = 'water_presence_detected';
const leakSensor = `binary_sensor_incident_${type}`;

/** A home of two hubs with two sonics each, in which no incident is open. */
function quietHome(options: HomeOptions = {}): Home {
  const home = new Home({ ...options, cloud: { signals: 2, sonics: 4, ...options.cloud } });
  for (const id of home.world.incidents.ids) home.world.closeIncident(id);
  return home;
}

/** Opens a leak whose record has these fields. */
function openLeak(home: Home, fields: Record<string, unknown>): string {
  const { id } = home.world.openIncident({ type, sonicId: home.sonicId });
  home.world.incidents.change(id, fields);
  return id;
}

const leaks = (home: Home, ids: readonly string[]) => ids.map((id) => home.entity(id, leakSensor).state);

/** The sonics on the first hub, and all others. */
function byHub(home: Home): [string[], string[]] {
  const { thingIds, sonics } = home.world;
  const isOn = (id: string) => sonics.get(id)?.signal_id === home.signalId;
  return [thingIds.filter(isOn), thingIds.filter((id) => !isOn(id))];
}

/** Answers an operation with this status, as long as it is so. */
function refuse(operation: string, status: number, isSo = () => true): Strike {
  return (request) =>
    request.operation === operation && isSo()
      ? {
          status,
          text: JSON.stringify({ error: 'refused' }),
          headers: { 'content-type': 'application/json' },
        }
      : null;
}

describe('what only a valve can report', () => {
  it('is unknown in its property while the valve is out of reach and none is open', async () => {
    const home = quietHome({ cloud: { properties: 2 } });
    const { propertyId, sonicId, world } = home;
    const [, other = ''] = world.properties.ids;
    const shown = (id: string) =>
      ['binary_sensor_problem', 'sensor_open_incidents', 'sensor_highest_severity'].map(
        (componentId) => home.entity(id, componentId).state,
      );
    const none = ['OFF', 0, 'none'];
    await home.start();
    expect(shown(propertyId)).toEqual(none);
    world.changeSonic(sonicId, { radio_connection: 'disconnected' });
    await home.pass(3 * minuteMs);
    for (let run = 0; run < 2; run++) {
      expect(shown(propertyId)).toEqual([null, null, null]);
      expect(home.json(`property/${propertyId}/incidents`).open_count).toBeNull();
      expect(shown(other)).toEqual(none);
      await home.restart();
    }
    const { id } = world.openIncident({ type: 'radio_disconnection', sonicId });
    await home.pass(minuteMs);
    expect(shown(propertyId).slice(0, 2)).toEqual(['ON', 1]);
    world.closeIncident(id);
    world.changeSonic(sonicId, { radio_connection: 'connected' });
    await home.pass(2 * minuteMs);
    expect(shown(propertyId)).toEqual(none);
  });
});

describe('an incident that cannot be shown, as its id is not safe in a topic', () => {
  it('makes unknown what it may be, and is forgotten with the next list', async () => {
    const home = quietHome();
    const { propertyId, sonicId } = home;
    const shown = () => [
      home.entity(sonicId, leakSensor).state,
      home.entity(sonicId, 'binary_sensor_alert').state,
      home.entity(sonicId, 'sensor_open_incidents').state,
      home.entity(propertyId, 'binary_sensor_problem').state,
    ];
    const summary = () => String(home.entity(propertyId, 'sensor_summary').state);
    const none = ['OFF', 'OFF', 0, 'OFF'];
    await home.start();
    expect(shown()).toEqual(none);
    home.simulator.setFaults([{ kind: 'unsafe-id', operation: 'list_incidents' }]);
    await home.pass(12 * minuteMs);
    for (let run = 0; run < 2; run++) {
      expect(shown()).toEqual([null, null, null, null]);
      expect(summary()).not.toContain('No leaks');
      const reason = expect.stringContaining('records without a usable id: 1');
      expect(home.json('bridge/health')).toMatchObject({ status: 'degraded', reason });
      await home.restart();
    }
    home.simulator.setFaults([]);
    await home.pass(2 * minuteMs);
    expect(shown()).toEqual(none);
    expect(summary()).toContain('No leaks');
    expect(home.json('bridge/health').status).toBe('ok');
  });
});

describe('an incident of which a part is known', () => {
  it.each([
    ['null', null],
    ['not listed', 'sonic-of-nobody'],
  ])('is at its hub, and may be at each valve of that, where its sonic is %s', async (_what, sonic_id) => {
    const home = quietHome();
    await home.start();
    const [near, far] = byHub(home);
    const id = openLeak(home, { sonic_id, signal_id: home.signalId });
    await home.pass(minuteMs);
    for (let run = 0; run < 2; run++) {
      expect(home.json(`signal/${home.signalId}/incidents`)).toMatchObject({
        open_count: 1,
        open: { [type]: { id } },
      });
      expect(leaks(home, near)).toEqual(near.map(() => null));
      expect(leaks(home, far)).toEqual(far.map(() => 'OFF'));
      for (const sonicId of near) {
        expect(home.entity(sonicId, 'sensor_open_incidents').state).toBeNull();
        expect(home.json(`sonic/${sonicId}/incidents`).open_count).toBeNull();
        expect(home.entity(sonicId, 'binary_sensor_incident_high_humidity').state).toBe('OFF');
      }
      expect(home.entity(home.propertyId, 'sensor_open_incidents').state).toBe(1);
      expect(home.entity('bridge', 'binary_sensor_unassigned_incidents').state).toBe('OFF');
      expect(home.json('bridge/health')).toMatchObject({
        status: 'degraded',
        reason: expect.stringContaining('without a known valve: Leak'),
      });
      expect(home.events('incident_opened').filter((event) => event['id'] === id)).toHaveLength(1);
      await home.restart();
    }
    home.world.closeIncident(id);
    await home.pass(minuteMs);
    expect(leaks(home, near)).toEqual(near.map(() => 'OFF'));
    expect(home.json('bridge/health').status).toBe('ok');
  });

  it.each([null, 7, '', {}])(
    'is at its valve and may be of any type there, where its type is %j',
    async (none) => {
      const home = quietHome();
      await home.start();
      openLeak(home, { type: none });
      await home.pass(minuteMs);
      for (const each of incidentTypes) {
        expect(home.entity(home.sonicId, `binary_sensor_incident_${each}`).state).toBeNull();
      }
      expect(home.entity(home.sonicId, 'sensor_open_incidents').state).toBe(1);
      expect(leaks(home, home.world.thingIds.slice(1))).toEqual(['OFF', 'OFF', 'OFF']);
      expect(home.json('bridge/health').reason).toContain('Open alert of an unknown type');
    },
  );

  it('is at its valve however the ids and the type are spelled', async () => {
    const home = quietHome({ unjudged: 'The oracle tells ids apart by their case.' });
    await home.start();
    const id = openLeak(home, {
      sonic_id: home.sonicId.toUpperCase(),
      signal_id: null,
      type: type.toUpperCase(),
    });
    await home.pass(minuteMs);
    expect(home.entity(home.sonicId, leakSensor).state).toBe('ON');
    expect(home.json(`sonic/${home.sonicId}/incidents`).open[type]).toMatchObject({ id });
    expect(home.events('incident_opened').filter((event) => event['id'] === id)).toHaveLength(1);
    expect(home.json('bridge/health').status).toBe('ok');
  });

  it('a list that spells its ids in capitals is about the devices that are known', async () => {
    const home = quietHome({ unjudged: 'The oracle tells ids apart by their case.' });
    await home.start();
    const before = [...home.broker.retained.keys()].toSorted();
    home.strike = ({ operation }) =>
      operation?.startsWith('list_')
        ? (good) => ({
            ...good,
            text: good.text.replace(/"(id|sonic_id|signal_id|property_id)": ?"[^"]*"/g, (pair) => {
              const [key = '', value = ''] = pair.split(':');
              return `${key}:${value.toUpperCase()}`;
            }),
          })
        : null;
    openLeak(home, {});
    home.broker.publish('sonic2mqtt/bridge/refresh', 'now', false);
    await home.pass(3 * minuteMs);
    expect(home.entity(home.sonicId, leakSensor)).toMatchObject({ state: 'ON', isAvailable: true });
    const isOfIncident = (topic: string) => topic.startsWith('sonic2mqtt/incident/');
    expect([...home.broker.retained.keys()].filter((topic) => !isOfIncident(topic)).toSorted()).toEqual(
      before,
    );
    home.broker.publish(`sonic2mqtt/sonic/${home.sonicId.toUpperCase()}/valve/set`, 'CLOSE', false);
    await home.pass(2 * minuteMs);
    expect(home.events('command')).toMatchObject([{ status: 'ok' }, { status: 'ok' }]);
    expect(home.json(`sonic/${home.sonicId}`).valve).toBe('closed');
  });

  it('has no highest severity as long as one of them cannot be ranked', async () => {
    const home = quietHome();
    await home.start();
    openLeak(home, { severity: 'low' });
    await home.pass(minuteMs);
    expect(home.entity(home.propertyId, 'sensor_highest_severity').state).toBe('low');
    openLeak(home, { severity: 'critical' });
    await home.pass(minuteMs);
    expect(home.entity(home.propertyId, 'sensor_highest_severity').state).toBeNull();
    expect(home.json(`property/${home.propertyId}/incidents`).highest_severity).toBeNull();
  });

  it('that only a device can report is unknown while that is offline', async () => {
    const home = quietHome();
    await home.start();
    home.world.sonics.change(home.sonicId, { radio_connection: 'disconnected' });
    await home.pass(3 * minuteMs);
    expect(home.text(`sonic/${home.sonicId}/availability`)).toBe('offline');
    expect(home.entity(home.sonicId, leakSensor)).toMatchObject({ state: null, isAvailable: true });
    expect(home.entity(home.sonicId, 'binary_sensor_incident_radio_disconnection').state).toBe('OFF');
    expect(home.entity(home.sonicId, 'sensor_open_incidents').state).toBeNull();
    openLeak(home, {});
    await home.pass(minuteMs);
    expect(home.entity(home.sonicId, leakSensor).state).toBe('ON');
  });

  it('at a Wi-Fi valve in one of several properties counts in each of them', async () => {
    const home = quietHome({
      cloud: { properties: 2, signals: 2, sonics: 1, wifiSonics: 1 },
      unjudged: 'The oracle knows the property of the valve, which the cloud does not tell.',
    });
    await home.start();
    const wifiId = home.world.wifiSonics.ids[0] ?? '';
    const { property_id: named, ...rest } = home.world.wifiSonics.get(wifiId) as unknown as Record<
      string,
      unknown
    >;
    expect([named, rest['id']]).toEqual([undefined, wifiId]);
    openLeak(home, { sonic_id: wifiId, signal_id: null });
    await home.pass(minuteMs);
    expect(home.entity(wifiId, leakSensor).state).toBe('ON');
    for (const id of home.world.properties.ids) {
      expect(home.entity(id, 'binary_sensor_problem').state).toBe('ON');
      expect(home.entity(id, 'sensor_open_incidents').state).toBe(1);
      expect(home.entity(id, 'sensor_summary').state).toMatch(/^Leak at /);
    }
  });
});

describe('a refusal as the first answer after a start', () => {
  it.each([
    ['', (_disk: VirtualDisk) => {}],
    [' by the broker alone', ({ files }: VirtualDisk) => files.clear()],
  ])('takes no Wi-Fi valve away that is known%s, which is asked for again', async (_how, lose) => {
    const home = quietHome({ cloud: { wifiSonics: 1 } });
    const wifiId = home.world.wifiSonics.ids[0] ?? '';
    await home.start();
    await home.pass(2 * minuteMs);
    const topics = [...home.broker.retained.keys()].filter((topic) => topic.includes(wifiId));
    expect(topics.length).toBeGreaterThan(5);
    await home.stop();
    lose(home.disk);
    let isRefusing = true;
    home.strike = refuse('list_wifi_sonics', 404, () => isRefusing);
    await home.start();
    await home.pass(10 * minuteMs);
    expect([...home.broker.retained.keys()].filter((topic) => topic.includes(wifiId))).toEqual(topics);
    expect(home.json('bridge/health')).toMatchObject({
      status: 'degraded',
      reason: expect.stringContaining('Wi-Fi valves'),
    });
    isRefusing = false;
    await home.pass(10 * minuteMs);
    expect(home.text(`sonic/${wifiId}/availability`)).toBe('online');
    expect(home.json('bridge/health').status).toBe('ok');
  });

  it.each([
    ['the last run has shown them', true, 11 * minuteMs],
    ['none has', false, 0],
  ])(
    'of the settings takes switches away after a while, and is told, where %s',
    async (_what, wereShown, afterMs) => {
      const home = quietHome({ config: { schedules: { properties: '5m' } } });
      const has = (id: string) => id in home.discovery(home.propertyId).components;
      if (wereShown) {
        await home.start();
        expect(has('switch_auto_shut_off')).toBe(true);
        await home.pass(2 * minuteMs);
        home.bridge.kill();
      }
      home.strike = refuse('read_property_settings', 403);
      const from = home.time.now;
      await home.start();
      expect(has('switch_auto_shut_off')).toBe(wereShown);
      await home.pass(afterMs + 5 * minuteMs);
      expect(has('switch_auto_shut_off')).toBe(false);
      const words = 'The cloud does not provide the settings';
      expect(home.json('bridge/health')).toMatchObject({
        status: 'ok',
        reason: expect.stringContaining(words),
      });
      expect(home.linesFrom(from).filter((line) => line.includes(words))).toHaveLength(1);
      await home.restart();
      expect(has('switch_auto_shut_off')).toBe(false);
      home.strike = () => null;
      await home.restart();
      expect(has('switch_auto_shut_off')).toBe(true);
    },
  );
});

describe('the day of a valve begins by the last known time zone', () => {
  it('while settings are refused, stale or without one, and over restarts', async () => {
    const home = quietHome({
      cloud: { properties: 1 },
      begins: '2026-03-01T06:00:00Z',
      config: { schedules: { properties: '10m', sonics: '5m', incidents: '5m', telemetry: '1h' } },
    });
    home.world.settings.change(home.propertyId, { timezone: 'America/New_York' });
    await home.start();
    await home.pass(minuteMs);
    const { last_reset: begins, today } = home.json(`sonic/${home.sonicId}/usage`);
    expect(begins).toBe('2026-03-01T00:00:00-05:00');
    const reset = () => home.json(`sonic/${home.sonicId}/usage`).last_reset;
    for (const strike of [
      refuse('read_property_settings', 500),
      refuse('read_property_settings', 403),
      refuse('read_property_settings', 200),
    ]) {
      home.strike = strike;
      for (let run = 0; run < 2; run++) {
        await home.pass(40 * minuteMs);
        expect(reset()).toBe(begins);
        expect(home.json(`sonic/${home.sonicId}/usage`).today).toBeGreaterThanOrEqual(today);
        await home.restart();
      }
      home.strike = () => null;
      await home.pass(10 * minuteMs);
    }
  });
});
