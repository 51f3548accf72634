import type { MqttClient } from 'mqtt';
import { describe, expect, it } from 'vitest';
import type { Connect } from '../../src/broker/clientOptions.ts';
import { type Home, minuteMs, secondMs, startedHome } from './home.ts';

/** No sooner than this after its entity was announced, Home Assistant hears an event. */
const twoSeconds = 2_000;

const quick = { incidents: '10s', sonics: '10s', properties: '20s' };
const hourly = {
  ...{ incidents: '1h', sonics: '1h', telemetry: '1h', signals: '1h', properties: '1h' },
  ...{ usage: '1h', pressure_tests: '1h' },
};

/** The incidents that the entity of a sonic was told of, and when. */
const announced = (home: Home, sonicId = home.sonicId) =>
  home
    .published(`sonic/${sonicId}/incident`)
    .map(({ payload, at }) => ({ id: JSON.parse(payload).id as string, at }));

/** When a device's discovery was taken first, from a moment on. */
const discoveredAt = (home: Home, id: string, from = 0) =>
  home.messages.find(
    ({ topic, at }) => at >= from && topic === `homeassistant/device/sonic2mqtt_${id}/config`,
  )?.at ?? Number.NaN;

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
    const told = () =>
      home.messages.filter(({ payload }) => payload.includes(`"${id}"`) && payload.includes('event'));
    home.disk.hold(() => true);
    const { id } = home.world.openIncident({ type: 'high_humidity', sonicId: home.sonicId });
    await untilHeld(home);
    await home.pass(2 * secondMs);
    expect(home.text(`incident/${id}`)).toBeDefined();
    expect(told()).toEqual([]);
    home.disk.hold((text) => JSON.parse(text).announced.includes(id));
    await untilHeld(home);
    await home.pass(2 * secondMs);
    expect(told().map(({ topic }) => topic)).toEqual(['sonic2mqtt/bridge/event']);
    home.disk.hold(() => false);
    await home.pass(minuteMs);
    expect(told()).toHaveLength(2);
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
    expect(
      announced(home)
        .slice(1)
        .map(({ id }) => id),
    ).toEqual([first, second]);
  });

  it.each([
    ['before its device is announced again', false],
    ['after that', true],
  ])(
    'is kept back for two seconds when Home Assistant starts while it is being noted, %s',
    async (_, isAgain) => {
      const home = await startHome();
      home.disk.hold(() => true);
      home.world.openIncident({ type: 'high_humidity', sonicId: home.sonicId });
      await untilHeld(home);
      let from = home.time.now;
      home.broker.publish('homeassistant/status', 'online', false);
      if (isAgain) {
        await home.until(() => discoveredAt(home, home.sonicId, from) >= from, 'its device');
        from = discoveredAt(home, home.sonicId, from);
      } else await home.pass(10);
      home.disk.hold(() => false);
      await home.pass(minuteMs);
      expect(announced(home)).toHaveLength(2);
      expect((announced(home)[1]?.at ?? 0) - from).toBeGreaterThanOrEqual(twoSeconds);
      expect(home.events('incident_opened')).toHaveLength(2);
    },
  );

  it('is kept back until two seconds after the broker has its device, on a link however slow', async () => {
    let held: (() => void)[] | null = null;
    const tapDial = (dial: Connect) =>
      ((options: Parameters<Connect>[0]) => {
        const client = (dial as (options: Parameters<Connect>[0]) => MqttClient)(options);
        const publish = client.publish.bind(client) as (...args: unknown[]) => MqttClient;
        client.publish = ((...args: unknown[]) => {
          if (held) held.push(() => publish(...args));
          else publish(...args);
          return client;
        }) as MqttClient['publish'];
        return client;
      }) as unknown as Connect;
    const home = await startedHome({ config: { schedules: quick }, tapDial });
    held = [];
    const { id } = home.world.addSonic(home.signalId);
    await home.pass(11 * secondMs);
    home.world.openIncident({ type: 'high_humidity', sonicId: id });
    await home.pass(14 * secondMs);
    const waiting = held;
    held = null;
    for (const send of waiting) send();
    await home.until(() => announced(home, id).length > 0, 'the event');
    expect((announced(home, id)[0]?.at ?? 0) - discoveredAt(home, id)).toBeGreaterThanOrEqual(twoSeconds);
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
    expect(
      announced(home)
        .slice(1)
        .map(({ id }) => id),
    ).toEqual([first, second]);
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
