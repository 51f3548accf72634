import { describe, expect, it } from 'vitest';
import { Home, hourMs, minuteMs, prompt, secondMs, startedHome } from './home.ts';

/** Takes the broker away, and what was connected with it. */
function breakDown(home: Home): void {
  home.broker.fault = 'away';
  home.broker.cut();
}

describe('17: the broker is down at boot, and the bridge gives up', () => {
  it('it is waited for, while the cloud is asked; within the minute all is there', async () => {
    const home = new Home();
    home.broker.fault = 'away';
    await home.start();
    await home.pass(2 * hourMs);
    expect(home.bridge.isRunning).toBe(true);
    expect(home.asked('list_sonics').length).toBeGreaterThan(8);
    // One line when it fails, and one an hour.
    expect(home.linesFrom(0).filter((text) => /MQTT broker/.test(text)).length).toBeLessThanOrEqual(4);
    home.broker.fault = null;
    await home.pass(minuteMs);
    expect(home.entity(home.sonicId, 'valve_valve')).toEqual({
      platform: 'valve',
      state: 'open',
      isAvailable: true,
    });
  });
});

describe('18: memory grows while the broker is away', () => {
  it('nothing is queued: back again, each topic comes once, with its newest value', async () => {
    const home = await startedHome({ cloud: { sonics: 4 }, config: { schedules: prompt } });
    const before = home.bridge.load.timers;
    breakDown(home);
    // Each poll brings something new.
    for (let minute = 0; minute < 20; minute++) {
      for (const [index, id] of home.world.thingIds.entries()) {
        home.world.changeSonic(id, { radio_rssi: minute + index, name: `Sonic ${minute}.${index}` });
      }
      await home.pass(minuteMs);
    }
    expect(home.bridge.load.timers).toBeLessThanOrEqual(before + 10);
    const from = home.messages.length;
    home.broker.fault = null;
    await home.pass(40 * secondMs);
    const retained = home.messages.slice(from).filter(({ retain }) => retain);
    const topics = retained.map(({ topic }) => topic);
    expect(topics.length).toBeGreaterThan(40);
    const doubled = topics.filter((topic, index) => topics.indexOf(topic) !== index);
    // What the bridge says of itself changes as it connects, and each discovery message is published once more,
    // with the states.
    expect(doubled.filter((topic) => !/\/bridge|\/config$|\/homeassistant$/.test(topic))).toEqual([]);
    for (const [index, id] of home.world.thingIds.entries()) {
      expect(home.json(`sonic/${id}`)).toMatchObject({ name: `Sonic 19.${index}` });
    }
  });
});

describe('also seen: a connection that says "connected" but is dead', () => {
  it('is found by its silence, though the cloud works, and what happened meanwhile is shown', async () => {
    const home = await startedHome({ config: { schedules: prompt } });
    home.broker.fault = 'frozen';
    const from = home.time.now;
    await home.pass(20 * minuteMs);
    home.world.setValve(home.sonicId, 'closed');
    await home.pass(2 * minuteMs);
    const words = home.linesFrom(from).filter((text) => /MQTT broker/.test(text));
    expect(words.length).toBeGreaterThan(0);
    expect(words.length).toBeLessThanOrEqual(3);
    expect(home.asked('list_sonics').filter(({ at }) => at > from + 15 * minuteMs).length).toBeGreaterThan(3);
    home.broker.fault = null;
    await home.pass(minuteMs);
    expect(home.entity(home.sonicId, 'valve_valve')).toMatchObject({ state: 'closed', isAvailable: true });
  });
});
