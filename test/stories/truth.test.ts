import { describe, expect, it } from 'vitest';
import { Home, minuteMs, prompt, secondMs, startedHome } from './home.ts';

/** Where each of these messages stands among those that the broker took from a moment on: the first of its kind. */
function orderFrom(home: Home, at: number, wanted: readonly (readonly [path: string, payload?: string])[]) {
  const taken = home.messages.filter((message) => message.at >= at);
  return wanted.map(([path, payload]) =>
    taken.findIndex(
      ({ topic, payload: said }) =>
        topic === `sonic2mqtt/${path}` && (payload === undefined || said === payload),
    ),
  );
}

function expectInOrder(places: readonly number[]): void {
  expect(places).not.toContain(-1);
  expect(places).toEqual(places.toSorted((one, other) => one - other));
}

describe('what an earlier run or connection left on the broker is not shown as the present', () => {
  it('after a reconnection the bridge is online once all is there', async () => {
    const home = await startedHome({ cloud: { sonics: 3 }, config: { schedules: prompt } });
    home.broker.fault = 'away';
    home.broker.cut();
    await home.pass(minuteMs);
    home.world.setValve(home.sonicId, 'closed');
    await home.pass(2 * minuteMs);
    expect(home.text('bridge/state')).toBe('offline');
    home.broker.fault = null;
    const back = home.time.now;
    await home.pass(minuteMs);
    expect(home.entity(home.sonicId, 'valve_valve')).toMatchObject({ state: 'closed', isAvailable: true });
    for (const id of home.world.thingIds) {
      expectInOrder(
        orderFrom(home, back, [
          [`sonic/${id}`],
          [`sonic/${id}/homeassistant`],
          [`sonic/${id}/availability`, 'online'],
          ['bridge/cloud', 'online'],
          ['bridge/state', 'online'],
        ]),
      );
    }
  });

  it('a sonic that is out of reach is unavailable before it says anything new', async () => {
    const home = new Home({ config: { schedules: prompt } });
    const { sonicId } = home;
    await home.start();
    home.world.changeSonic(sonicId, { radio_connection: 'disconnected' });
    while (home.json(`sonic/${sonicId}`)['radio_connection'] !== 'disconnected') await home.pass(secondMs);
    // The second reading that says so makes it unavailable.
    const cut = home.time.now;
    home.world.changeSonic(sonicId, { radio_rssi: 1 });
    await home.pass(10 * minuteMs);
    expectInOrder(orderFrom(home, cut, [[`sonic/${sonicId}/availability`, 'offline'], [`sonic/${sonicId}`]]));
    const reached = home.time.now;
    home.world.changeSonic(sonicId, { radio_connection: 'connected' });
    await home.pass(10 * minuteMs);
    expectInOrder(
      orderFrom(home, reached, [[`sonic/${sonicId}`], [`sonic/${sonicId}/availability`, 'online']]),
    );
  });
});

describe('what the bridge says of itself is of the last five minutes', () => {
  it('the last update and the requests follow, and a quiet poll publishes nothing of devices', async () => {
    const home = await startedHome({ config: { schedules: {} } });
    await home.pass(6 * minuteMs);
    const from = home.time.now;
    for (let part = 0; part < 10; part++) {
      await home.pass(2 * minuteMs + 7 * secondMs);
      const shown = home.entity('bridge', 'sensor_last_update').state;
      const polled = home.asked('list_sonics').filter(({ at }) => at <= home.time.now - 5 * minuteMs);
      const latest = Date.parse('2026-03-02T09:00:00Z') + (polled.at(-1)?.at ?? 0);
      expect(Date.parse(String(shown))).toBeGreaterThanOrEqual(latest);
      const sent = home.requests.filter(({ at }) => at <= home.time.now - 5 * minuteMs).length;
      expect(home.entity('bridge', 'sensor_requests_last_hour').state).toBeGreaterThanOrEqual(sent);
    }
    const published = home.messages.filter(
      ({ at, topic }) => at > from && !/\/(usage|telemetry)$/.test(topic),
    );
    const topics = [...new Set(published.map(({ topic }) => topic))];
    expect(
      topics.filter(
        (topic) => !topic.startsWith('sonic2mqtt/bridge/') && !/sonic\/.*\/homeassistant$/.test(topic),
      ),
    ).toEqual([]);
    // Every five minutes.
    expect(published.filter(({ topic }) => topic.endsWith('bridge/info')).length).toBeLessThanOrEqual(5);
  });
});
