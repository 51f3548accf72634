import { describe, expect, it } from 'vitest';
import { type Home, minuteMs, secondMs, startedHome } from './home.ts';

const quick = { incidents: '10s', sonics: '10s', properties: '20s' };
const hourly = {
  ...{ incidents: '1h', sonics: '1h', telemetry: '1h', signals: '1h', properties: '1h' },
  ...{ usage: '1h', pressure_tests: '1h' },
};

const announced = (home: Home) => home.opened(home.sonicId);

/** Not longer than the bridge waits for a disk. */
const untilHeld = (home: Home) => home.until(() => home.disk.waiting > 0, 'the note', 15 * secondMs);

async function startHome(schedules: Readonly<Record<string, string>> = quick): Promise<Home> {
  const home = await startedHome({ config: { schedules } });
  expect(announced(home)).toHaveLength(1);
  return home;
}

describe('an incident', () => {
  it('is announced only once it is noted on disk, so that no crash announces it twice', async () => {
    const home = await startHome();
    home.disk.hold(() => true);
    const { id } = home.world.openIncident({ type: 'high_humidity', sonicId: home.sonicId });
    await untilHeld(home);
    await home.pass(2 * secondMs);
    expect(home.text(`incident/${id}`)).toBeDefined();
    expect(announced(home)).toHaveLength(1);
    home.disk.hold(() => false);
    await home.pass(minuteMs);
    expect(announced(home).slice(1)).toEqual([id]);
  });

  it('that opened while the disk was busy with another is announced without a further poll', async () => {
    const home = await startHome(hourly);
    home.disk.hold(() => true);
    const open = async (type: 'high_humidity' | 'low_temperature') => {
      const { id } = home.world.openIncident({ type, sonicId: home.sonicId });
      home.broker.publish('sonic2mqtt/bridge/refresh', 'PRESS', false);
      await home.until(() => home.text(`incident/${id}`) !== undefined, 'the incident');
      return id;
    };
    const first = await open('high_humidity');
    await untilHeld(home);
    const second = await open('low_temperature');
    expect(announced(home)).toHaveLength(1);
    home.disk.hold(() => false);
    await home.pass(minuteMs);
    expect(announced(home).slice(1)).toEqual([first, second]);
  });

  it.each(['offline', 'online'])('waits for nobody who publishes %s as Home Assistant does', async (word) => {
    const home = await startHome();
    home.broker.cut();
    await home.pass(secondMs);
    home.broker.publish('homeassistant/status', word, false);
    const { id } = home.world.openIncident({ type: 'water_presence_detected', sonicId: home.sonicId });
    await home.until(() => home.text(`incident/${id}`) !== undefined, 'the incident', 30 * secondMs);
    await home.pass(secondMs);
    expect(announced(home)).toContain(id);
    expect(home.entity(home.sonicId, 'binary_sensor_incident_water_presence_detected').state).toBe('ON');
  });

  it.each([
    ['after a restart', () => {}],
    ['after a restart without the data of before', (home: Home) => home.disk.files.clear()],
  ])('that stays open is announced no second time %s', async (_, lose) => {
    const home = await startHome();
    const { id: first } = home.world.openIncident({ type: 'high_humidity', sonicId: home.sonicId });
    await home.pass(minuteMs);
    await home.stop();
    lose(home);
    await home.start();
    const { id: second } = home.world.openIncident({ type: 'low_temperature', sonicId: home.sonicId });
    await home.pass(minuteMs);
    expect(announced(home).slice(1)).toEqual([first, second]);
  });
});

it('the bridge is offline as soon as it vanishes, and when it has said goodbye', async () => {
  const home = await startHome();
  home.broker.fault = 'away';
  home.broker.cut();
  await home.pass(secondMs);
  expect(home.text('bridge/state')).toBe('offline');
  home.broker.fault = null;
  await home.until(() => home.text('bridge/state') === 'online', 'the bridge to be back');
  await home.stop();
  expect(home.text('bridge/state')).toBe('offline');
});
