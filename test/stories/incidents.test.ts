import { describe, expect, it } from 'vitest';
import type { ChangeAnswer, RequestFault } from '../simulation/virtualCloud.ts';
import { Home, minuteMs, secondMs, startedHome } from './home.ts';

const type = 'water_presence_detected';

/** How often the opening of an incident was announced. */
const announced = (home: Home, id: string) =>
  home.events('incident_opened').filter((event) => event['id'] === id).length;

describe('an incident that opens', () => {
  it('is shown although the cloud does not answer for another that its list misses', async () => {
    const home = new Home();
    const { id: closing } = home.world.openIncident({ type: 'low_battery_level', sonicId: home.sonicId });
    await home.start();
    await home.pass(minuteMs);
    home.strike = ({ operation }) => (operation === 'read_incident' ? 'hang-before' : null);
    home.world.incidents.change(closing, { open: false });
    home.world.openIncident({ type, sonicId: home.sonicId });
    const listed = home.asked('list_incidents').length;
    await home.until(() => home.asked('list_incidents').length > listed, 'the next list');
    await home.pass(secondMs);
    expect(home.entity(home.sonicId, `binary_sensor_incident_${type}`)?.state).toBe('ON');
  });
});

describe('an open incident while its list alone cannot be read', () => {
  async function startWithLeak() {
    const home = new Home();
    for (const id of home.world.incidents.ids) home.world.closeIncident(id);
    const { id } = home.world.openIncident({ type, sonicId: home.sonicId });
    await home.start();
    const shown = (key: string) => home.entity(home.sonicId, key).state;
    expect([shown(`binary_sensor_incident_${type}`), shown('sensor_open_incidents')]).toEqual(['ON', 1]);
    const refuse = (...names: string[]) => {
      home.strike = ({ operation }) => (operation && names.includes(operation) ? 'error-500' : null);
    };
    return { home, id, shown, refuse };
  }

  it('is read by itself, once for each schedule, and closes when the cloud says so', async () => {
    const { home, id, shown, refuse } = await startWithLeak();
    refuse('list_incidents');
    const asked = home.asked('read_incident').length;
    await home.pass(10 * minuteMs);
    const times = home.asked('read_incident').length - asked;
    expect([times >= 10, times <= 21]).toEqual([true, true]);
    expect(shown(`binary_sensor_incident_${type}`)).toBe('ON');
    // It is confirmed, but there may be others.
    expect(home.json(`property/${home.propertyId}/incidents`)).toMatchObject({
      open_count: null,
      highest_severity: null,
      open: [{ id }],
    });
    expect(home.entity(home.propertyId, 'sensor_summary').state).not.toContain('not confirmed');
    expect(home.json('bridge/health').status).toBe('degraded');
    home.world.closeIncident(id);
    await home.pass(minuteMs);
    expect(shown(`binary_sensor_incident_${type}`)).toBeNull();
    expect(home.json(`sonic/${home.sonicId}/incidents`).open[type]).toBeNull();
  });

  it.each<[string, RequestFault | ChangeAnswer]>([
    ['with an error', 'error-500'],
    [
      'with 404, as a gateway does that has lost its routes',
      (good) => ({ ...good, status: 404, text: '{"message":"Not Found"}' }),
    ],
  ])('stays shown if it is answered %s too, and the sentence says since when', async (_, fault) => {
    const { home, shown } = await startWithLeak();
    home.strike = ({ operation }) =>
      operation === 'list_incidents' || operation === 'read_incident' ? fault : null;
    await home.pass(10 * minuteMs);
    expect([shown(`binary_sensor_incident_${type}`), shown('sensor_open_incidents')]).toEqual(['ON', null]);
    expect(home.entity(home.propertyId, 'sensor_highest_severity').state).toBeNull();
    expect(home.entity(home.propertyId, 'sensor_summary').state).toMatch(
      /^Leak at Kitchen, .*The cloud has not confirmed this since 09:00\./,
    );
    home.strike = () => null;
    await home.pass(minuteMs);
    expect(shown('sensor_open_incidents')).toBe(1);
    expect(home.entity(home.propertyId, 'sensor_summary').state).not.toContain('confirmed');
  });

  it('closes by the answer to a request', async () => {
    const { home, id, shown, refuse } = await startWithLeak();
    refuse('list_incidents', 'read_incident');
    await home.pass(minuteMs);
    home.world.closeIncident(id);
    refuse('list_incidents');
    home.broker.publish(
      'sonic2mqtt/bridge/request/read_incident',
      `{"params":{"incident_id":"${id}"}}`,
      false,
    );
    await home.pass(secondMs);
    expect(shown(`binary_sensor_incident_${type}`)).toBe('OFF');
  });
});

describe('an incident is announced once', () => {
  it('also if its sonic becomes known only later', async () => {
    const home = await startedHome();
    const sonic = home.world.addSonic(home.signalId);
    home.strike = ({ operation }) => (operation === 'list_sonics' ? 'error-500' : null);
    const { id } = home.world.openIncident({ type, sonicId: sonic.id });
    home.world.incidents.change(id, { signal_id: home.signalId });
    await home.pass(minuteMs);
    expect(announced(home, id)).toBe(1);
    home.strike = () => null;
    for (let run = 0; run < 2; run++) {
      await home.pass(5 * minuteMs);
      expect(home.entity(sonic.id, 'binary_sensor_incident_water_presence_detected')?.state).toBe('ON');
      expect(announced(home, id)).toBe(1);
      await home.restart();
    }
  });

  it('although the first list after a restart misses it', async () => {
    const home = await startedHome();
    const { id } = home.world.openIncident({ type, sonicId: home.sonicId });
    await home.pass(2 * minuteMs);
    home.bridge.kill();
    home.world.incidents.change(id, { open: false });
    const read = home.asked('list_incidents').length;
    home.bridge.start();
    await home.pass(10 * secondMs);
    expect(home.asked('list_incidents').slice(read)).toMatchObject([{ status: 200 }]);
    home.world.incidents.change(id, { open: true });
    await home.pass(2 * minuteMs);
    expect(home.json(`incident/${id}`).open).toBe(true);
    expect(announced(home, id)).toBe(1);
  });

  it('and once more if it opens again, also if it closed while the bridge did not run', async () => {
    const home = await startedHome();
    const { id } = home.world.openIncident({ type, sonicId: home.sonicId });
    await home.pass(2 * minuteMs);
    home.bridge.kill();
    home.world.incidents.change(id, { open: false });
    await home.start();
    await home.pass(2 * minuteMs);
    home.world.incidents.change(id, { open: true });
    await home.pass(2 * minuteMs);
    expect(announced(home, id)).toBe(2);
  });
});
