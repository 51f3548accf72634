import { describe, expect, it } from 'vitest';
import { Home, minuteMs, secondMs } from './home.ts';

// What an owner reads first: the summary of the property, the alert of a valve, and when no water ran.

/** A home of one property without an incident, all of it shown. */
async function dryHome(options: ConstructorParameters<typeof Home>[0] = {}): Promise<Home> {
  const home = new Home({ cloud: { properties: 1, signals: 1, sonics: 1 }, ...options });
  for (const { id } of home.world.incidents.values()) home.world.closeIncident(id);
  home.world.setValve(home.sonicId, 'open');
  await home.start();
  await home.pass(2 * minuteMs);
  return home;
}

/** Ms since 1970. */
const wallOf = ({ world }: Home) => world.now;

const summaryOf = (home: Home) => home.entity(home.propertyId, 'sensor_summary').state;

function alertOf(home: Home) {
  const { alert_words: words } = home.json(`sonic/${home.sonicId}/homeassistant`);
  return { ...home.entity(home.sonicId, 'binary_sensor_alert'), words };
}

describe('the summary of a property', () => {
  it('follows valves and alerts', async () => {
    const home = await dryHome();
    expect(summaryOf(home)).toBe('All good. No leaks, water on.');
    expect(alertOf(home)).toMatchObject({ state: 'OFF', words: [] });
    const { id } = home.world.openIncident({ type: 'water_presence_detected', sonicId: home.sonicId });
    await home.pass(minuteMs);
    const since = /since \d\d:\d\d/.exec(String(summaryOf(home)))?.[0];
    const name = home.world.sonics.get(home.sonicId)?.name;
    expect(summaryOf(home)).toBe(`Leak at ${name}, ${since}. Water is on.`);
    expect(alertOf(home)).toMatchObject({ state: 'ON', isAvailable: true, words: [`Leak ${since}`] });
    home.world.setValve(home.sonicId, 'closed');
    await home.pass(2 * minuteMs);
    expect(summaryOf(home)).toBe(`Leak at ${name}, ${since}. Water is off.`);
    home.world.closeIncident(id);
    await home.pass(minuteMs);
    expect(summaryOf(home)).toBe('All good. No leaks, water off.');
  });

  it('never says that all is well while the alerts could not be read', async () => {
    const home = await dryHome();
    await home.stop();
    const restarted = home.time.now;
    home.strike = ({ operation }) => (operation === 'list_incidents' ? 'error-500' : null);
    home.bridge.start();
    await home.pass(10 * minuteMs);
    expect(summaryOf(home)).toMatch(
      /^(No connection to the cloud|Not (everything|all alerts) could be read)\./,
    );
    expect(alertOf(home)).toMatchObject({ state: null, words: [] });
    const said = home.messages
      .filter(
        ({ at, topic }) =>
          at >= restarted && topic === `sonic2mqtt/property/${home.propertyId}/homeassistant`,
      )
      .map(({ payload }) => JSON.parse(payload).summary);
    expect(said.filter((each) => each !== null && /No leaks|All good/.test(each))).toEqual([]);
    home.strike = () => null;
    await home.pass(2 * minuteMs);
    expect(summaryOf(home)).toMatch(/^All good\. /);
  });

  it('says nothing of all the water while a valve is in no property that is known', async () => {
    const home = await dryHome({ cloud: { properties: 2, signals: 2, sonics: 2, wifiSonics: 1 } });
    for (const id of home.world.thingIds) home.world.setValve(id, 'closed');
    await home.pass(3 * minuteMs);
    expect(summaryOf(home)).toMatch(/^All good\. No leaks, 0 of 1 valves open\.$/);
  });
});

describe('water last at rest', () => {
  const restOf = (home: Home) => home.entity(home.sonicId, 'sensor_water_at_rest').state;

  it('stands while water runs, also over a restart', async () => {
    const home = await dryHome();
    home.world.setValve(home.sonicId, 'closed');
    await home.pass(10 * minuteMs);
    const atRest = Date.parse(String(restOf(home)));
    expect(wallOf(home) - atRest).toBeLessThan(5 * minuteMs);
    home.world.setValve(home.sonicId, 'open');
    home.world.openIncident({ type: 'long_flow_alert', sonicId: home.sonicId });
    await home.pass(10 * minuteMs);
    const running = restOf(home);
    expect(wallOf(home) - Date.parse(String(running))).toBeGreaterThan(9 * minuteMs);
    await home.stop();
    home.bridge.start();
    await home.pass(minuteMs);
    expect(restOf(home)).toBe(running);
    await home.pass(20 * minuteMs);
    // Water that runs is written to the disk, and this with it.
    home.bridge.kill();
    home.bridge.start();
    await home.pass(10 * secondMs);
    expect(restOf(home)).toBe(running);
  });
});
