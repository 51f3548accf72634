import { describe, expect, it } from 'vitest';
import { Home, minuteMs, secondMs } from './home.ts';

const type = 'water_presence_detected';

/** A home in which no incident is open. */
function quietHome(properties: number, config = {}): Home {
  const home = new Home({ cloud: { properties, signals: properties, sonics: 2 }, config });
  for (const id of home.world.incidents.ids) home.world.closeIncident(id);
  return home;
}

/** Opens an incident whose record says this of its device. */
function openAt(home: Home, device: Record<string, unknown>): string {
  const { id } = home.world.openIncident({ type, sonicId: home.sonicId });
  home.world.incidents.change(id, device);
  return id;
}

const strangers: readonly [what: string, device: Record<string, unknown>][] = [
  ['null', { sonic_id: null, signal_id: null }],
  ['objects', { sonic_id: { id: 'a' }, signal_id: { id: 'b' } }],
  ['unknown to the account', { sonic_id: 'sonic-of-nobody', signal_id: 'signal-of-nobody' }],
];

describe('an open incident at a device that nobody knows is not taken for none', () => {
  it.each(strangers)('the only property shows it, where its ids are %s', async (_what, device) => {
    const home = quietHome(1);
    const { propertyId, signalId } = home;
    await home.start();
    const id = openAt(home, device);
    await home.pass(minuteMs);

    expect(home.entity(propertyId, 'binary_sensor_problem').state).toBe('ON');
    expect(home.entity(propertyId, 'sensor_open_incidents').state).toBe(1);
    expect(home.entity(propertyId, 'sensor_highest_severity').state).toBe('high');
    expect(home.json(`property/${propertyId}/incidents`)).toMatchObject({ open_count: 1, open: [{ id }] });
    expect(home.entity('bridge', 'binary_sensor_unassigned_incidents').state).toBe('OFF');
    for (const sonicId of home.world.thingIds) {
      expect(home.entity(sonicId, `binary_sensor_incident_${type}`).state).toBeNull();
      expect(home.entity(sonicId, 'sensor_open_incidents').state).toBeNull();
      expect(home.json(`sonic/${sonicId}/incidents`).open_count).toBeNull();
      // Of other types none is open.
      expect(home.entity(sonicId, 'binary_sensor_incident_high_humidity').state).toBe('OFF');
    }
    expect(home.entity(signalId, 'sensor_open_incidents').state).toBeNull();
    expect(home.json('bridge/health')).toMatchObject({
      status: 'degraded',
      reason: expect.stringContaining('Open alert without a known valve or hub: Leak'),
    });

    home.world.closeIncident(id);
    await home.pass(minuteMs);
    expect(home.entity(propertyId, 'binary_sensor_problem').state).toBe('OFF');
    expect(home.entity(home.sonicId, `binary_sensor_incident_${type}`).state).toBe('OFF');
    expect(home.entity(home.sonicId, 'sensor_open_incidents').state).toBe(0);
    expect(home.json('bridge/health').status).toBe('ok');
  });

  it.each(strangers)(
    'with several properties the bridge shows it, where its ids are %s',
    async (_what, device) => {
      const home = quietHome(2);
      const { properties, thingIds } = home.world;
      await home.start();
      expect(home.entity('bridge', 'binary_sensor_unassigned_incidents').state).toBe('OFF');
      const id = openAt(home, device);
      await home.pass(minuteMs);

      expect(home.entity('bridge', 'binary_sensor_unassigned_incidents').state).toBe('ON');
      expect(home.json('bridge/incidents')).toMatchObject({
        open_count: 1,
        highest_severity: 'high',
        open: [{ id }],
      });
      for (const propertyId of properties.ids) {
        expect(home.entity(propertyId, 'binary_sensor_problem').state).toBeNull();
        expect(home.entity(propertyId, 'sensor_open_incidents').state).toBeNull();
        expect(home.json(`property/${propertyId}/incidents`).open_count).toBeNull();
      }
      for (const sonicId of thingIds) {
        expect(home.entity(sonicId, `binary_sensor_incident_${type}`).state).toBeNull();
      }
      expect(home.json('bridge/health').status).toBe('degraded');

      home.world.closeIncident(id);
      await home.pass(minuteMs);
      expect(home.json('bridge/incidents')).toMatchObject({ open_count: 0, open: [] });
      expect(home.entity(properties.ids[0] ?? '', 'binary_sensor_problem').state).toBe('OFF');
      expect(home.json('bridge/health').status).toBe('ok');
    },
  );

  it.each([1, 2])(
    'what a replaced hub says of itself is no trouble of any valve (properties: %i)',
    async (count) => {
      const home = quietHome(count);
      const { properties, thingIds } = home.world;
      await home.start();
      const id = openAt(home, { type: 'cloud_disconnection', sonic_id: null, signal_id: 'hub-of-yesterday' });
      await home.pass(minuteMs);
      expect(home.entity('bridge', 'binary_sensor_unassigned_incidents').state).toBe('ON');
      expect(home.json('bridge/incidents')).toMatchObject({ open_count: 1, open: [{ id }] });
      for (const device of [...properties.ids, ...home.world.signals.ids, ...thingIds])
        expect(home.entity(device, 'sensor_open_incidents').state).toBe(0);
      expect(home.json('bridge/health')).toMatchObject({
        status: 'degraded',
        reason: expect.stringMatching(/^Open alert of a hub that the account does not have: /),
      });
    },
  );

  it('a bridge that shows one property of several does not leave it out', async () => {
    const home = quietHome(2, { filters: { properties: [quietHome(2).propertyId] } });
    await home.start();
    openAt(home, { sonic_id: 'sonic-of-nobody', signal_id: null });
    await home.pass(minuteMs);
    expect(home.entity('bridge', 'binary_sensor_unassigned_incidents').state).toBe('ON');
    expect(home.entity(home.propertyId, 'binary_sensor_problem').state).toBeNull();
  });

  it('it is at its sonic as soon as the account has that', async () => {
    const home = quietHome(2);
    await home.start();
    const { id } = home.world.openIncident({ type, sonicId: home.sonicId });
    home.world.incidents.change(id, { sonic_id: 'newcomer', signal_id: null });
    await home.pass(minuteMs);
    expect(home.entity('bridge', 'binary_sensor_unassigned_incidents').state).toBe('ON');
    const newcomer = home.world.addSonic(home.signalId);
    home.world.incidents.change(id, { sonic_id: newcomer.id });
    await home.pass(minuteMs + 30 * secondMs);
    expect(home.entity('bridge', 'binary_sensor_unassigned_incidents').state).toBe('OFF');
    expect(home.entity(newcomer.id, `binary_sensor_incident_${type}`).state).toBe('ON');
    expect(home.entity(home.propertyId, 'binary_sensor_problem').state).toBe('ON');
    expect(home.json('bridge/health').status).toBe('ok');
  });
});
