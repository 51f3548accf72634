import { describe, expect, it } from 'vitest';
import { Home, hourMs, leisurely, minuteMs, type Sections, secondMs, startedHome } from './home.ts';

/** A home whose valve can be told to move. */
async function aHome(config: Sections = {}): Promise<Home> {
  const home = new Home({ config });
  home.world.settings.change(home.propertyId, { auto_shut_off: true });
  await home.start();
  return home;
}

const ask = (home: Home, payload: string) =>
  home.broker.publish(`sonic2mqtt/sonic/${home.sonicId}/valve/set`, payload, false);
/** From now on the valve does not move. */
const weaken = (home: Home) => {
  const valve = home.world.valve(home.sonicId);
  if (valve) valve.weak = true;
};
const last = (home: Home) => home.json(`sonic/${home.sonicId}/last_command`);
const movement = (home: Home) => home.json(`sonic/${home.sonicId}/movement`);
const failed = (home: Home) => home.entity(home.sonicId, 'binary_sensor_command_failed');

describe('a valve that does not obey', () => {
  it('is shown in Home Assistant and the log until it obeys, over restarts and outages', async () => {
    const home = await aHome({ schedules: leisurely });
    expect(last(home)).toEqual({ action: null, asked_at: null, status: null, reason: null, failed: null });
    expect(failed(home)).toMatchObject({ state: 'OFF', isAvailable: true });
    weaken(home);
    ask(home, 'CLOSE');
    await home.pass(5 * secondMs);
    expect(last(home)).toMatchObject({ action: 'close', status: 'sent', reason: null });
    expect(failed(home).state).toBe('OFF');
    await home.pass(100 * secondMs);
    expect(last(home)).toMatchObject({
      status: 'not_confirmed',
      reason: 'not confirmed within 90 s',
      failed: { action: 'close', text: expect.stringContaining(' did not close. Look at the valve') },
    });
    expect(failed(home).state).toBe('ON');
    expect(home.lines.at(-1)?.text).toMatch(
      /^warn: Valve ".+" did not close within 90 s. Look at it, then check its battery and its hub$/,
    );
    await home.restart();
    expect(failed(home).state).toBe('ON');
    home.strike = () => 'error-503';
    await home.pass(20 * minuteMs);
    expect(failed(home)).toMatchObject({ state: 'ON', isAvailable: true });
    home.strike = () => null;
    await home.pass(23 * hourMs);
    expect(failed(home).state).toBe('ON');
    await home.pass(hourMs);
    expect(failed(home).state).toBe('OFF');
    expect(last(home)).toMatchObject({ status: 'not_confirmed', failed: null });
  });

  it('is not shown as failed any more once its owner has dismissed that, whatever is away', async () => {
    const home = await aHome({ schedules: leisurely });
    const dismiss = () =>
      home.broker.publish(`sonic2mqtt/sonic/${home.sonicId}/last_command/dismiss`, 'PRESS', false);
    const said = () => home.entity(home.propertyId, 'sensor_summary').state;
    const expectDismissed = () => {
      expect(last(home)).toMatchObject({ action: 'close', status: 'not_confirmed', failed: null });
      expect(failed(home)).toMatchObject({ state: 'OFF', isAvailable: true });
    };
    ask(home, 'CLOSE');
    await home.pass(secondMs);
    home.world.valve(home.sonicId)?.stop();
    await home.pass(2 * minuteMs);
    expect(said()).toContain(' did not close: close it by hand.');
    home.strike = () => 'refused';
    await home.pass(10 * minuteMs);
    expect(home.text('bridge/cloud')).toBe('offline');
    expect(home.entity(home.sonicId, 'button_dismiss_failure').isAvailable).toBe(true);
    const before = home.lines.length;
    dismiss();
    await home.pass(secondMs);
    expect(home.lines.slice(before).map(({ text }) => text)).toEqual([
      expect.stringMatching(/^info: Failed command of valve ".+" dismissed \(MQTT command\)$/),
    ]);
    expectDismissed();
    home.bridge.kill();
    home.strike = () => null;
    await home.start();
    await home.pass(20 * minuteMs);
    expectDismissed();
    // The cloud still says that the valve is closing, and it has not for half an hour.
    expect(home.json(`sonic/${home.sonicId}`).valve).toBe('closing');
    expect(home.entity(home.sonicId, 'valve_valve').state).toBeNull();
    expect(said()).not.toMatch(/did not close|is closing/);
    weaken(home);
    ask(home, 'CLOSE');
    await home.pass(2 * minuteMs);
    expect(failed(home).state).toBe('ON');
    // What is sent during an outage of the broker is lost, and comes at no later time.
    home.broker.cut();
    dismiss();
    await home.pass(minuteMs);
    expect(failed(home).state).toBe('ON');
    dismiss();
    await home.pass(secondMs);
    home.broker.cut();
    await home.pass(minuteMs);
    expectDismissed();
  });

  it('is no longer one that was killed in the middle, whatever became of the command', async () => {
    const home = await aHome();
    ask(home, 'CLOSE');
    await home.pass(2 * secondMs);
    home.bridge.kill();
    await home.pass(minuteMs);
    await home.start();
    expect(last(home)).toMatchObject({ action: 'close', status: 'confirmed' });
    expect(movement(home)).toMatchObject({ valve: 'closed', by: 'command' });
    weaken(home);
    ask(home, 'OPEN');
    await home.pass(2 * secondMs);
    home.bridge.kill();
    await home.pass(minuteMs);
    home.strike = () => 'refused';
    await home.start();
    expect(last(home)).toMatchObject({ action: 'open', status: 'not_confirmed' });
    home.strike = () => null;
    await home.pass(5 * minuteMs);
    expect(failed(home).state).toBe('ON');
  });
});

describe('a valve that obeys late', () => {
  /** Nothing says that it did not close: it is shown closed, by the command. */
  const expectObeyed = (home: Home) => {
    expect(home.json(`sonic/${home.sonicId}`).valve).toBe('closed');
    expect(movement(home)).toMatchObject({ valve: 'closed', by: 'command' });
    expect(last(home)).toMatchObject({ action: 'close', status: 'confirmed', reason: null, failed: null });
    expect(failed(home).state).toBe('OFF');
    expect(home.entity(home.propertyId, 'sensor_summary').state).not.toContain('did not close');
  };

  it('is not shown as failed once it is read closed, ten seconds after its time', async () => {
    const home = await startedHome({ cloud: { valveTravelMs: 100 * secondMs } });
    ask(home, 'CLOSE');
    await home.pass(95 * secondMs);
    expect(last(home)).toMatchObject({ status: 'not_confirmed', failed: { action: 'close' } });
    await home.pass(2 * minuteMs);
    expectObeyed(home);
  });

  it.each([
    ['open', 'the valve moved'],
    ['closed', 'the valve was closed already'],
  ])('is not told to have failed after an outage in which it was not read: %s, %s', async (valve) => {
    for (const isRestarted of [false, true]) {
      const home = await aHome();
      home.world.setValve(home.sonicId, valve === 'open' ? 'open' : 'closed');
      await home.pass(2 * minuteMs);
      ask(home, 'CLOSE');
      await home.pass(secondMs);
      home.strike = () => 'refused';
      await home.pass(2 * minuteMs);
      const reason = 'the valve could not be read for 90 s';
      const text = expect.stringMatching(
        /^It is not known whether .+ has closed\. Reason: the valve could not/,
      );
      expect(last(home)).toMatchObject({ status: 'not_confirmed', reason, failed: { reason, text } });
      expect(home.linesFrom(0)).toContainEqual(
        expect.stringMatching(
          /^warn: Valve ".+" could not be read for 90 s after a command to close it. Look at it$/,
        ),
      );
      if (isRestarted) await home.stop();
      home.strike = () => null;
      if (isRestarted) await home.start();
      await home.pass(5 * minuteMs);
      if (valve === 'open' && !isRestarted) expectObeyed(home);
      expect(last(home)).toMatchObject({ status: 'confirmed', failed: null });
      home.bridge.kill();
    }
  });

  it('is not told to have stood still if only the first half of its time was read', async () => {
    const home = await aHome();
    weaken(home);
    ask(home, 'CLOSE');
    await home.pass(45 * secondMs);
    home.strike = () => 'refused';
    await home.pass(minuteMs);
    const reason = expect.stringMatching(/^the valve could not be read for 4\d s$/);
    const text = expect.stringContaining('It is not known whether ');
    expect(last(home)).toMatchObject({ status: 'not_confirmed', reason, failed: { text } });
  });

  it('is shown as failed until it is read where it was to go, also if another client closes it', async () => {
    const home = new Home();
    home.world.settings.change(home.propertyId, { auto_shut_off: false });
    await home.start();
    weaken(home);
    ask(home, 'CLOSE');
    await home.pass(2 * minuteMs);
    expect(last(home)).toMatchObject({ status: 'not_confirmed', failed: { action: 'close' } });
    home.world.setValve(home.sonicId, 'closed');
    await home.pass(2 * minuteMs);
    expect(movement(home)).toMatchObject({ valve: 'closed', by: 'elsewhere' });
    expect(last(home)).toMatchObject({ status: 'not_confirmed', failed: null });
  });
});

describe('who moved the valve', () => {
  it('is known from a command or an incident that comes later, or is unknown, over restarts', async () => {
    const home = await aHome();
    const { sonicId, world } = home;
    expect(movement(home)).toMatchObject({ valve: 'open', at: null, by: null });
    ask(home, 'CLOSE');
    await home.pass(30 * secondMs);
    const topic = `sonic2mqtt/sonic/${sonicId}/valve/set`;
    expect(movement(home)).toMatchObject({ valve: 'closed', by: 'command', topic, incident_id: null });
    expect(home.entity(sonicId, 'sensor_moved_by').state).toBe('Command');
    expect(home.entity(sonicId, 'sensor_moved_at').state).toBe(movement(home).at);
    await home.pass(10 * minuteMs);
    world.setValve(sonicId, 'open');
    await home.pass(90 * secondMs);
    expect(movement(home)).toMatchObject({ valve: 'open', by: 'elsewhere', topic: null });
    const { id } = world.openIncident({ type: 'device_handle_moved', sonicId });
    await home.pass(minuteMs);
    expect(movement(home)).toMatchObject({ valve: 'open', by: 'by_hand', incident_id: id });
    await home.pass(10 * minuteMs);
    world.setValve(sonicId, 'pressure_test');
    await home.pass(2 * minuteMs);
    world.setValve(sonicId, 'open');
    await home.pass(2 * minuteMs);
    expect(movement(home)).toMatchObject({ by: 'by_hand', incident_id: id });
    world.setValve(sonicId, 'closed');
    const leak = world.openIncident({ type: 'water_presence_detected', sonicId });
    await home.pass(2 * minuteMs);
    expect(movement(home)).toMatchObject({ by: 'automatic_shut_off', incident_id: leak.id });
    await home.stop();
    world.setValve(sonicId, 'open');
    await home.pass(hourMs);
    await home.start();
    // Some time in that hour.
    const elsewhere = { valve: 'open', by: 'elsewhere', incident_id: null, at: null };
    expect(movement(home)).toEqual({ ...elsewhere, topic: null });
    expect(home.entity(sonicId, 'sensor_moved_at').state).toBeNull();
    home.strike = () => 'error-503';
    await home.pass(hourMs);
    world.setValve(sonicId, 'closed');
    await home.pass(hourMs);
    home.strike = () => null;
    await home.pass(5 * minuteMs);
    expect(movement(home)).toMatchObject({ valve: 'closed', by: 'elsewhere', at: null });
  });

  it('is a hand that did what a command could not, as the incident shows', async () => {
    const home = await aHome();
    weaken(home);
    ask(home, 'CLOSE');
    await home.pass(45 * secondMs);
    const { id } = home.world.openIncident({ type: 'device_handle_moved', sonicId: home.sonicId });
    home.world.setValve(home.sonicId, 'closed');
    await home.pass(minuteMs);
    expect(movement(home)).toMatchObject({ valve: 'closed', by: 'by_hand', topic: null, incident_id: id });
    expect(last(home)).toMatchObject({ status: 'confirmed', failed: null });
  });

  it('is not the automatic shut-off that was paused then, and is on again soon after', async () => {
    const home = await aHome();
    const { sonicId, propertyId, world } = home;
    home.broker.publish(`sonic2mqtt/property/${propertyId}/pause/set`, '10', false);
    await home.pass(7 * minuteMs);
    world.openIncident({ type: 'high_volume_alert', sonicId });
    await home.pass(30 * secondMs);
    world.setValve(sonicId, 'closed');
    await home.pass(5 * minuteMs);
    expect(world.settings.get(propertyId)?.auto_shut_off).toBe(true);
    expect(movement(home)).toMatchObject({ valve: 'closed', by: 'elsewhere', incident_id: null });
  });
});
