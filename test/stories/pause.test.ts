import { describe, expect, it } from 'vitest';
import type { ChangeAnswer, RequestFault } from '../simulation/virtualCloud.ts';
import { Home, type HomeOptions, hourMs, minuteMs, newDisk, secondMs } from './home.ts';

/** Lists on which no pause depends, in hours that pass. */
const rare = { incidents: '10m', sonics: '10m', telemetry: '1h' };

/** A home that is there with its shut-off on, and what one does and sees of its pause. */
async function pausedHome({ config, ...options }: HomeOptions = {}, isOn = true) {
  const schedules = { ...rare, ...Object(config?.['schedules']) };
  const home = new Home({ ...options, config: { ...config, schedules } });
  const { propertyId, world } = home;
  world.settings.change(propertyId, { auto_shut_off: isOn });
  await home.start();
  const topic = `property/${propertyId}/pause`;
  const command = async (payload: string, path = 'pause/set') => {
    const before = home.events('command').length;
    home.broker.publish(`sonic2mqtt/property/${propertyId}/${path}`, payload, false);
    await home.until(() => home.events('command').length > before, `the outcome of ${path} ${payload}`);
    return home.events('command').at(-1);
  };
  return {
    home,
    command,
    pause: () => home.json(topic),
    isOn: () => world.settings.get(propertyId)?.auto_shut_off,
    sent: () => home.asked('update_property_settings').map(({ body }) => JSON.parse(body)),
    untilState: (state: string, longestMs?: number) =>
      home.until(() => home.json(topic).state === state, `the pause to be ${state}`, longestMs),
  };
}

const ok = { status: 'ok', reason: null, http_status: 200 };
const off = { auto_shut_off: false };
const on = { auto_shut_off: true };
const none = { until: null, minutes: 0, state: 'none', reason: null };

describe('a pause of the automatic shut-off', () => {
  it('turns it off now and on again after its minutes, and says until when', async () => {
    const { home, command, pause, isOn, sent } = await pausedHome();
    expect(pause()).toEqual(none);
    const before = home.time.now;
    expect(await command('90')).toMatchObject(ok);
    expect(isOn()).toBe(false);
    const { until, minutes, state, reason } = pause();
    expect([minutes, state, reason]).toEqual([90, 'paused', null]);
    const length = Date.parse(until) - Date.parse('2026-03-02T09:00:00Z') - before;
    expect(length).toBeGreaterThanOrEqual(90 * minuteMs);
    expect(length).toBeLessThan(90 * minuteMs + secondMs);
    expect(home.entity(home.propertyId, 'sensor_paused_until')).toMatchObject({
      state: until,
      isAvailable: true,
    });
    await home.pass(89 * minuteMs);
    expect([isOn(), pause().until]).toEqual([false, until]);
    await home.pass(minuteMs + 2 * secondMs);
    expect([isOn(), pause()]).toEqual([true, none]);
    expect(sent()).toEqual([off, on]);
    expect(home.linesFrom(0).filter((line) => line.includes('shut-off'))).toEqual([
      'info: Pausing the automatic shut-off of "Willow Cottage" for 90 min (MQTT command)',
      'info: The automatic shut-off of "Willow Cottage" is on again',
    ]);
    await home.pass(hourMs);
    expect(sent()).toEqual([off, on]);
  });

  it('can be ended, prolonged and shortened', async () => {
    const { home, command, pause, isOn, sent, untilState } = await pausedHome();
    expect(await command('0')).toMatchObject({ status: 'refused' });
    expect(await command('15')).toMatchObject(ok);
    const first = pause().until;
    expect(await command('120')).toMatchObject(ok);
    expect(Date.parse(pause().until) - Date.parse(first)).toBeGreaterThan(89 * minuteMs);
    await home.pass(hourMs);
    expect([isOn(), pause().state]).toEqual([false, 'paused']);
    expect(await command('5')).toMatchObject(ok);
    await home.pass(5 * minuteMs + 2 * secondMs);
    expect([isOn(), pause()]).toEqual([true, none]);
    expect(await command('1440')).toMatchObject(ok);
    expect(await command('0')).toMatchObject(ok);
    await untilState('none', 2 * secondMs);
    expect(isOn()).toBe(true);
    // Only what turns it off or on is asked of the cloud.
    expect(sent()).toEqual([off, on, off, on]);
  });

  it('is refused in words for anything but whole minutes of a day at most', async () => {
    const { home, command, sent } = await pausedHome();
    for (const payload of [' ', '-5', '1441', '2.5', 'an hour', '{"minutes":5}', '1e2', 'ON'])
      expect(await command(payload), payload).toMatchObject({
        status: 'refused',
        reason: 'must be whole minutes from 1 to 1440, or 0 to end the pause',
      });
    home.broker.publish(`sonic2mqtt/property/${home.propertyId}/pause/set`, '', false);
    await home.pass(minuteMs);
    expect(sent()).toEqual([]);
  });

  it('is refused where the shut-off is off already, by what the cloud says now, or not known', async () => {
    const { home, command, pause, sent } = await pausedHome({}, false);
    const wasOff = { status: 'refused', reason: 'the automatic shut-off is off already' };
    expect(await command('60')).toMatchObject(wasOff);
    home.world.settings.change(home.propertyId, on);
    home.broker.publish('sonic2mqtt/bridge/refresh', 'PRESS', false);
    await home.pass(minuteMs);
    // Turned off in the app since it was read last.
    home.world.settings.change(home.propertyId, off);
    expect(await command('60')).toMatchObject(wasOff);
    home.world.settings.change(home.propertyId, { auto_shut_off: null });
    expect(await command('60')).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining('not known'),
    });
    home.strike = ({ operation }) => (operation === 'read_property_settings' ? 'error-503' : null);
    expect(await command('60')).toMatchObject({ status: 'error', http_status: 503 });
    expect([sent(), pause()]).toEqual([[], none]);
  });

  it('is refused where nothing can be kept on disk, since nothing could end it after a restart', async () => {
    const { home, command, pause, sent } = await pausedHome();
    home.disk.fault = 'ENOSPC';
    expect(await command('60')).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining('data_dir cannot be written'),
    });
    expect([sent(), pause()]).toEqual([[], none]);
    home.disk.fault = null;
    await home.pass(2 * minuteMs);
    expect(await command('60')).toMatchObject(ok);
    // The pause before stands.
    const { until } = pause();
    home.disk.fault = 'EROFS';
    expect(await command('600')).toMatchObject({ status: 'refused' });
    expect(pause().until).toBe(until);
    await home.pass(hourMs);
    expect(pause()).toEqual(none);
    expect(sent()).toEqual([off, on]);
  });

  it('is on disk before the cloud receives it', async () => {
    const { home, sent } = await pausedHome();
    home.disk.hold((text) => /"pauses":\{"/.test(text));
    home.broker.publish(`sonic2mqtt/property/${home.propertyId}/pause/set`, '60', false);
    await home.pass(5 * secondMs);
    expect([home.disk.waiting, sent()]).toEqual([1, []]);
    home.disk.hold(() => false);
    await home.pass(secondMs);
    expect(sent()).toEqual([off]);
  });

  it('that is prolonged while its end comes is refused for that, however slow the disk is', async () => {
    const { home, command, pause } = await pausedHome();
    await command('10');
    await home.pass(10 * minuteMs - 3 * secondMs);
    home.disk.hold(() => true);
    const prolonged = command('30');
    await home.pass(4 * secondMs);
    home.disk.hold(() => false);
    const { until, ...outcome } = { ...(await prolonged), until: pause().until };
    expect(outcome).toMatchObject(until === null ? { status: 'refused' } : ok);
    expect(JSON.stringify(outcome)).not.toContain('data_dir');
  });

  it('has buttons and a number in Home Assistant, unless control.settings is off', async () => {
    const { home, command, pause } = await pausedHome();
    const { propertyId } = home;
    const { components } = home.discovery(propertyId);
    expect(components.number_pause).toMatchObject({ min: 0, max: 1440, unit_of_measurement: 'min' });
    expect(components.number_pause.command_topic).toBe(`sonic2mqtt/property/${propertyId}/pause/set`);
    expect(components).not.toHaveProperty('button_pause');
    const minutes = () => home.entity(propertyId, 'number_pause').state;
    expect(minutes()).toBe(pause().minutes);
    expect(await command('1441')).toMatchObject({ status: 'refused' });
    expect(await command('15.0')).toMatchObject(ok);
    expect([minutes(), pause().state]).toEqual([15, 'paused']);
    const { command_topic: topic, payload_press: payload } = components.button_resume;
    expect(topic).toBe(components.number_pause.command_topic);
    expect(await command(payload)).toMatchObject(ok);
    expect([minutes(), pause()]).toEqual([0, none]);
    expect(await command('15')).toMatchObject(ok);
    // What was paused is given back all the same: that is no change which somebody asks for.
    await home.stop();
    await home.startWith({ control: { settings: false } });
    expect(Object.keys(home.discovery(propertyId).components)).not.toContain('number_pause');
    expect(await command('0')).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining('control'),
    });
    expect(pause().state).toBe('paused');
    await home.pass(15 * minuteMs);
    expect([pause(), home.world.settings.get(propertyId)?.auto_shut_off]).toEqual([none, true]);
  });
});

/** An answer of the cloud that shows what was before the pause. */
const showingOn: ChangeAnswer = (answer) => ({
  ...answer,
  text: answer.text.replace('"auto_shut_off":false', '"auto_shut_off":true'),
});

describe('somebody else, during a pause', () => {
  it('ends it by turning the shut-off on in the app', async () => {
    const { home, command, pause, sent } = await pausedHome({ config: { schedules: { properties: '10m' } } });
    await command('60');
    await home.pass(20 * minuteMs);
    home.world.settings.change(home.propertyId, on);
    await home.pass(11 * minuteMs);
    expect(pause()).toEqual(none);
    // From then on it is off because somebody wants that.
    home.world.settings.change(home.propertyId, off);
    await home.pass(hourMs);
    expect(sent()).toEqual([off, on]);
  });

  it('does not end it for good by one answer that is old: it is turned on', async () => {
    const { home, command, pause, isOn } = await pausedHome({ config: { schedules: { properties: '10m' } } });
    await command('60');
    await home.pass(20 * minuteMs);
    let answers = 1;
    home.strike = ({ operation }) =>
      operation === 'read_property_settings' && answers-- > 0 ? showingOn : null;
    await home.pass(11 * minuteMs);
    expect([pause(), isOn()]).toEqual([none, true]);
  });

  it('does not end it by a reading that was under way before it was off', async () => {
    const { home, command, pause, isOn } = await pausedHome();
    // Read before the change, and answered after it.
    home.strike = ({ operation }) => (operation === 'read_property_settings' ? 'slow' : null);
    home.broker.publish('sonic2mqtt/bridge/refresh', 'PRESS', false);
    await home.pass(100);
    home.strike = () => null;
    expect(await command('60')).toMatchObject(ok);
    await home.pass(minuteMs);
    expect([pause().state, isOn()]).toEqual(['paused', false]);
  });

  it('is ended by no ON that the cloud accepts while the pause is just beginning', async () => {
    const { home, pause, isOn, sent } = await pausedHome();
    const { propertyId } = home;
    home.strike = ({ operation, body }) =>
      operation === 'update_property_settings' && body.includes('false') ? 'slow' : null;
    home.broker.publish(`sonic2mqtt/property/${propertyId}/pause/set`, '60', false);
    await home.until(() => sent().length === 1, 'the request to turn it off');
    const request = JSON.stringify({ params: { property_id: propertyId }, body: on });
    home.broker.publish('sonic2mqtt/bridge/request/update_property_settings', request, false);
    await home.until(() => sent().length === 2, 'the request to turn it on');
    await home.pass(minuteMs);
    expect([pause().state, isOn(), sent()]).toEqual(['paused', false, [off, on]]);
  });

  it('is not prolonged by a command whose own reading shows that it is on again', async () => {
    const { home, command, pause, isOn } = await pausedHome();
    await command('60');
    await home.pass(minuteMs);
    home.world.settings.change(home.propertyId, on);
    expect(await command('60')).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining('is being turned on after a pause'),
    });
    await home.pass(minuteMs);
    expect([pause(), isOn()]).toEqual([none, true]);
  });

  it('ends it by the command ON, and cannot make it last for good by OFF', async () => {
    const { home, command, pause, isOn, sent } = await pausedHome();
    const { propertyId } = home;
    await command('60');
    const refusal = { status: 'refused', reason: expect.stringContaining('is paused') };
    expect(await command('OFF', 'settings/auto_shut_off/set')).toMatchObject(refusal);
    const fields = JSON.stringify({ ...off, timezone: 'Europe/Paris' });
    expect(await command(fields, 'settings/set')).toMatchObject(refusal);
    const request = JSON.stringify({ params: { property_id: propertyId }, body: off });
    home.broker.publish('sonic2mqtt/bridge/request/update_property_settings', request, false);
    await home.pass(secondMs);
    expect(home.events('command').at(-1)).toMatchObject(refusal);
    expect(await command('Europe/Paris', 'settings/timezone/set')).toMatchObject({ status: 'ok' });
    expect(pause().state).toBe('paused');
    expect(await command('ON', 'settings/auto_shut_off/set')).toMatchObject({ status: 'ok' });
    await home.pass(secondMs);
    expect([pause(), isOn()]).toEqual([none, true]);
    expect(await command('OFF', 'settings/auto_shut_off/set')).toMatchObject({ status: 'ok' });
    await home.pass(65 * minuteMs);
    expect(isOn()).toBe(false);
    expect(sent()).toEqual([off, { timezone: 'Europe/Paris' }, on, off]);
  });
});

describe('a pause and a restart', () => {
  it.each([
    ['a stop', (home: Home) => home.stop()],
    ['a kill', async (home: Home) => home.bridge.kill()],
  ])('is ended in time after %s', async (_, end) => {
    const { home, command, pause, isOn, sent } = await pausedHome();
    await command('60');
    const { until } = pause();
    await home.pass(20 * minuteMs);
    await end(home);
    await home.pass(20 * minuteMs);
    await home.start();
    expect([pause().state, pause().until, isOn()]).toEqual(['paused', until, false]);
    await home.pass(20 * minuteMs);
    expect([pause(), isOn()]).toEqual([none, true]);
    expect(sent()).toEqual([off, on]);
  });

  it('is ended at once where its time has passed meanwhile', async () => {
    const { home, command, pause, isOn } = await pausedHome();
    await command('60');
    home.bridge.kill();
    await home.pass(5 * hourMs);
    await home.start();
    expect([pause(), isOn()]).toEqual([none, true]);
  });

  it('that was killed between disk and request has no pause', async () => {
    const { home, pause, isOn, sent } = await pausedHome();
    home.strike = ({ operation }) => (operation === 'update_property_settings' ? 'slow-connect' : null);
    home.broker.publish(`sonic2mqtt/property/${home.propertyId}/pause/set`, '60', false);
    await home.pass(400);
    expect(sent()).toEqual([]);
    home.bridge.kill();
    home.strike = () => null;
    await home.start();
    await home.pass(65 * minuteMs);
    expect([pause(), isOn(), sent()]).toEqual([none, true, [on]]);
  });

  it('that was killed before the answer has the pause, and ends it', async () => {
    const { home, pause, isOn } = await pausedHome();
    home.strike = ({ operation }) => (operation === 'update_property_settings' ? 'hang-after' : null);
    home.broker.publish(`sonic2mqtt/property/${home.propertyId}/pause/set`, '60', false);
    await home.pass(secondMs);
    expect(isOn()).toBe(false);
    home.bridge.kill();
    home.strike = () => null;
    await home.start();
    expect([pause().state, isOn()]).toEqual(['paused', false]);
    await home.pass(hourMs);
    expect([pause(), isOn()]).toEqual([none, true]);
  });

  it.each(['0', null])(
    'whose request arrives when the process has long been dead is ended all the same (resumed: %s)',
    async (resume) => {
      const { home, command, pause, isOn } = await pausedHome();
      // The kernel goes on with what was written.
      home.strike = ({ operation }) => (operation === 'update_property_settings' ? 'hang-before' : null);
      home.broker.publish(`sonic2mqtt/property/${home.propertyId}/pause/set`, '60', false);
      await home.pass(secondMs);
      home.bridge.kill();
      home.strike = () => null;
      await home.start();
      if (resume !== null) await command(resume);
      await home.pass(100 * secondMs);
      expect(pause().state).toBe(resume === null ? 'paused' : 'resuming');
      home.world.settings.change(home.propertyId, off);
      await home.pass(5 * minuteMs);
      expect([pause().state, isOn()]).toEqual(resume === null ? ['paused', false] : ['none', true]);
      await home.pass(hourMs);
      expect([pause(), isOn()]).toEqual([none, true]);
    },
  );

  it('whose state file is lost is on the broker, and ends', async () => {
    const { home, command, pause, isOn } = await pausedHome();
    await command('30');
    home.bridge.kill();
    const next = home.anotherBridge({ schedules: rare }, { disk: newDisk() });
    next.start();
    await home.pass(minuteMs);
    expect([pause().state, isOn()]).toEqual(['paused', false]);
    await home.pass(hourMs);
    expect([pause(), isOn()]).toEqual([none, true]);
    next.kill();
  });

  it('is ended although the property is not selected any more', async () => {
    const { home, command, isOn } = await pausedHome({ cloud: { properties: 2 } });
    const [, other = ''] = home.world.properties.ids;
    await command('60');
    await home.stop();
    await home.startWith({ schedules: rare, filters: { properties: [other] } });
    expect(home.text(`property/${home.propertyId}/pause`)).toBeUndefined();
    expect(isOn()).toBe(false);
    await home.pass(hourMs);
    expect(isOn()).toBe(true);
  });
});

const path = '/data/sonic2mqtt.json';

describe('a pause and a state file', () => {
  const damages: readonly [string, (text: string) => string | null][] = [
    ['is cut', (text) => text.slice(0, text.length / 2)],
    ['is missing', () => null],
    ['has damaged pauses', (text) => text.replace('"leftMs":', '"leftMs":-')],
  ];
  const lose = (home: Home, damage: (text: string) => string | null) => {
    const text = damage(home.disk.files.get(path) ?? '');
    if (text === null) home.disk.files.delete(path);
    else home.disk.files.set(path, text);
  };

  /** A broker that does not keep its messages over a restart. */
  const forgetTopics = (home: Home) => {
    for (const topic of home.broker.retained.keys())
      if (topic.endsWith('/pause')) home.broker.retained.delete(topic);
  };

  it.each(damages)('that %s goes on by the broker, and ends', async (_, damage) => {
    const { home, command, pause, isOn, sent } = await pausedHome();
    await command('60');
    const { until } = pause();
    await home.pass(20 * minuteMs);
    home.bridge.kill();
    lose(home, damage);
    await home.start();
    expect([pause().state, pause().until, isOn()]).toEqual(['paused', until, false]);
    await home.pass(5 * minuteMs);
    expect(home.json('bridge/health').status).toBe('ok');
    await home.pass(36 * minuteMs);
    expect([pause(), isOn(), sent()]).toEqual([none, true, [off, on]]);
  });

  it('that is older, as a copy that was put back, goes on by the broker, and ends', async () => {
    const { home, command, pause, isOn } = await pausedHome();
    const older = home.disk.files.get(path) ?? '';
    await command('60');
    const { until } = pause();
    await home.stop();
    home.disk.files.set(path, older);
    await home.start();
    expect([pause().state, pause().until, isOn()]).toEqual(['paused', until, false]);
    await home.pass(hourMs);
    expect([pause(), isOn()]).toEqual([none, true]);
  });

  it('of which the broker has an older message is what the file says', async () => {
    const { home, command, pause, isOn } = await pausedHome();
    await command('60');
    await home.pass(minuteMs);
    const topic = `sonic2mqtt/property/${home.propertyId}/pause`;
    const older = home.broker.retained.get(topic) ?? '';
    await command('120');
    const { until } = pause();
    await home.stop();
    home.broker.publish(topic, older, true);
    home.broker.publish('sonic2mqtt/bridge/memory', '{"revision":1}', true);
    await home.start();
    expect([pause().until, isOn()]).toEqual([until, false]);
    await home.pass(2 * hourMs);
    expect([pause(), isOn()]).toEqual([none, true]);
  });

  it('that a stranger has written to the broker is a day long at most', async () => {
    const { home, pause, isOn } = await pausedHome({}, false);
    await home.stop();
    home.disk.files.clear();
    const forged = { until: '9999-01-01T00:00:00.000Z', minutes: 1e9, state: 'paused', reason: null };
    home.broker.publish(`sonic2mqtt/property/${home.propertyId}/pause`, JSON.stringify(forged), true);
    await home.start();
    expect([pause().state, pause().minutes]).toEqual(['paused', 1_440]);
    await home.pass(24 * hourMs);
    expect([pause(), isOn()]).toEqual([none, true]);
  });

  it.each([
    ['pause/set', '0'],
    ['settings/auto_shut_off/set', 'ON'],
  ])(
    'that cannot be written when it ends: the outcome of %s says that it is not kept',
    async (path, payload) => {
      const { home, command, pause, isOn } = await pausedHome();
      await command('60');
      home.disk.fault = 'ENOSPC';
      expect(await command(payload, path)).toMatchObject({
        status: 'error',
        reason: expect.stringMatching(/is on, but data_dir cannot be written/),
      });
      await home.until(() => pause().state === 'none', 'the pause to have ended');
      expect(isOn()).toBe(true);
      home.disk.fault = null;
      await home.pass(2 * minuteMs);
      home.world.settings.change(home.propertyId, off);
      await home.restart();
      await home.pass(2 * hourMs);
      expect([pause(), isOn()]).toEqual([none, false]);
    },
  );

  it('that cannot be read for a moment is not touched, and goes on', async () => {
    const { home, command, pause, isOn } = await pausedHome();
    await command('60');
    const { until } = pause();
    home.bridge.kill();
    home.disk.fault = 'EIO';
    const started = home.start();
    await home.pass(200);
    home.disk.fault = null;
    await started;
    expect([pause().state, pause().until, isOn()]).toEqual(['paused', until, false]);
    expect([...home.disk.files.keys()]).toEqual([path]);
  });

  it('that is lost everywhere is told until the shut-off is on', async () => {
    const { home, command, pause, isOn } = await pausedHome();
    await command('60');
    home.bridge.kill();
    lose(home, () => '{');
    forgetTopics(home);
    await home.start();
    await home.pass(5 * minuteMs);
    expect(home.json('bridge/health')).toMatchObject({
      status: 'degraded',
      reason: expect.stringContaining('The memory of a pause may be lost'),
    });
    expect(home.text(`property/${home.propertyId}/pause`)).toBeUndefined();
    // The next run has an intact file, and still does not know.
    home.bridge.kill();
    await home.start();
    await home.pass(5 * minuteMs);
    expect(home.json('bridge/health').status).toBe('degraded');
    home.world.settings.change(home.propertyId, on);
    await home.pass(2 * hourMs);
    expect([home.json('bridge/health').status, pause(), isOn()]).toEqual(['ok', none, true]);
    home.world.settings.change(home.propertyId, off);
    home.bridge.kill();
    forgetTopics(home);
    await home.start();
    await home.pass(5 * minuteMs);
    expect(home.json('bridge/health').status).toBe('ok');
  });

  it('that is lost everywhere is not of a property that was added later', async () => {
    const { home } = await pausedHome();
    home.bridge.kill();
    lose(home, () => '{');
    forgetTopics(home);
    await home.start();
    const { id } = home.world.addProperty();
    home.world.settings.change(id, off);
    await home.pass(2 * hourMs);
    expect(home.json(`property/${id}/pause`)).toEqual(none);
    expect(home.json('bridge/health').status).toBe('ok');
  });
});

describe('a pause and a clock', () => {
  it('that is set hours back is no longer than it was asked for, and says when it ends', async () => {
    const minutes = -300;
    const { home, command, pause, isOn } = await pausedHome();
    await command('60');
    await home.pass(10 * minuteMs);
    home.bridge.wallErrorMs = minutes * minuteMs;
    await home.pass(minuteMs);
    const begins = Date.parse('2026-03-02T09:00:00Z');
    const leftMs = Date.parse(pause().until) - (begins + home.time.now + minutes * minuteMs);
    expect(Math.round(leftMs / minuteMs)).toBe(49);
    await home.pass(48 * minuteMs);
    expect(isOn()).toBe(false);
    await home.pass(minuteMs + 2 * secondMs);
    expect([isOn(), pause()]).toEqual([true, none]);
  });

  it('that goes on while the machine sleeps ends when it wakes', async () => {
    const { home, command, isOn } = await pausedHome();
    await command('5');
    home.oracle.excuse(20 * minuteMs);
    home.bridge.machine.sleep(10 * minuteMs);
    await home.pass(10 * minuteMs + 15 * secondMs);
    expect(isOn()).toBe(true);
  });
});

describe('a cloud that does not turn it on again', () => {
  it.each<[RequestFault | number]>([['refused'], ['hang-after'], ['html'], ['limited'], ['denied'], [404]])(
    'by %s is asked until it does, and that is said',
    async (fault) => {
      const { home, command, pause, isOn, untilState } = await pausedHome();
      await command('60');
      const strike = typeof fault === 'number' ? answer(fault) : fault;
      home.strike = ({ operation, body }) =>
        operation === 'update_property_settings' || (fault === 'html' && body !== '') ? strike : null;
      if (fault === 'hang-after') home.world.onChange();
      await home.pass(62 * minuteMs);
      if (fault === 'hang-after') expect([isOn(), pause()]).toEqual([true, none]);
      else {
        expect([isOn(), pause().state]).toEqual([false, 'failed']);
        expect(pause().reason).not.toBeNull();
        const { status, reason } = home.json('bridge/health');
        expect(status).not.toBe('ok');
        expect(reason).toContain('The automatic shut-off of "Willow Cottage" is still off after a pause');
        expect(home.entity(home.propertyId, 'sensor_paused_until').state).toBe(pause().until);
      }
      const warnings = () => home.linesFrom(0).filter((line) => /^warn: Automatic shut-off of/.test(line));
      expect(warnings().length).toBeLessThanOrEqual(2);
      home.strike = () => null;
      await untilState('none', 11 * minuteMs);
      expect(isOn()).toBe(true);
      await home.pass(20 * secondMs);
      expect(home.json('bridge/health').status).toBe('ok');
    },
  );

  it('because it is away goes on over restarts, also without a broker', async () => {
    const { home, command, pause, isOn, untilState } = await pausedHome();
    await command('60');
    await home.pass(50 * minuteMs);
    home.strike = () => 'refused';
    home.broker.fault = 'away';
    home.broker.cut();
    await home.pass(30 * minuteMs);
    home.bridge.kill();
    await home.start();
    expect(isOn()).toBe(false);
    home.strike = () => null;
    await home.pass(2 * minuteMs);
    expect(isOn()).toBe(true);
    home.broker.fault = null;
    await untilState('none', 3 * minuteMs);
    expect(pause()).toEqual(none);
  });

  it('is not called off any more while it only waits for the proof', async () => {
    const { home, command, isOn, untilState } = await pausedHome();
    await command('60');
    await home.pass(59 * minuteMs);
    home.strike = () => 'refused';
    await untilState('failed', 2 * minuteMs);
    // What the killed run has sent may still arrive, so no reading proves anything for three minutes.
    home.bridge.kill();
    await home.start();
    home.strike = () => null;
    await home.until(() => isOn() === true, 'the shut-off to be on', 2 * minuteMs);
    await home.pass(30 * secondMs);
    expect(home.json(`property/${home.propertyId}/pause`)).toMatchObject({ state: 'resuming', reason: null });
    expect(home.json('bridge/health').status).toBe('ok');
    await untilState('none', 3 * minuteMs);
  });

  it('although it accepts is not believed before it shows that', async () => {
    const { home, command, pause, isOn, untilState } = await pausedHome();
    await command('60');
    home.strike = ({ operation }) => (operation === 'update_property_settings' ? answer(200) : null);
    await home.pass(61 * minuteMs);
    expect([isOn(), pause().state]).toEqual([false, 'failed']);
    expect(pause().reason).toContain('still reports it as off');
    home.strike = () => null;
    await untilState('none', 2 * minuteMs);
    expect(isOn()).toBe(true);
  });

  it('as a command asks for ends that command with an error, and goes on', async () => {
    const { home, command, pause, isOn, untilState } = await pausedHome();
    await command('60');
    home.strike = ({ operation }) => (operation === 'update_property_settings' ? 'error-503' : null);
    expect(await command('0')).toMatchObject({
      status: 'error',
      http_status: 503,
      reason: expect.stringContaining('Trying again until the automatic shut-off is on'),
    });
    expect(pause().state).toBe('failed');
    expect(await command('60')).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining('is being turned on'),
    });
    home.strike = () => null;
    await untilState('none', 2 * minuteMs);
    expect(isOn()).toBe(true);
  });

  it('is not asked any more about a property that it no longer has, until that is back', async () => {
    const { home, command, isOn } = await pausedHome({
      cloud: { properties: 2, signals: 2, sonics: 2 },
      config: { schedules: { properties: '10m' } },
    });
    const { world, propertyId } = home;
    const [property, settings] = [world.properties.get(propertyId), world.settings.get(propertyId)];
    const notifications = world.notifications.get(propertyId);
    await command('60');
    await home.pass(minuteMs);
    world.leaveProperty(propertyId);
    await home.pass(2 * hourMs);
    const asked = () => home.asked('update_property_settings').length;
    const before = asked();
    expect(home.json('bridge/health')).toMatchObject({
      status: 'ok',
      reason: expect.stringContaining('the property is no longer in the account'),
    });
    await home.pass(hourMs);
    expect(asked()).toBe(before);
    if (!property || !settings || !notifications) throw new Error('there is no property');
    world.addProperty(property);
    world.settings.change(propertyId, off);
    await home.pass(hourMs);
    expect(isOn()).toBe(true);
  });
});

describe('a pause that the cloud', () => {
  it.each([404, 422, 429])('refuses (%d) is none', async (status) => {
    const { home, command, pause, isOn, sent } = await pausedHome();
    home.strike = ({ operation }) => (operation === 'update_property_settings' ? answer(status) : null);
    expect(await command('60')).toMatchObject({ status: 'error', http_status: status });
    await home.pass(65 * minuteMs);
    expect([isOn(), pause()]).toEqual([true, none]);
    expect(sent().every((body) => body.auto_shut_off === false)).toBe(true);
  });

  it.each<RequestFault>(['hang-after', 'reset-after', 'error-503'])(
    'may have begun (%s) is undone at once, since the command has failed',
    async (fault) => {
      const { home, command, pause, isOn, sent } = await pausedHome();
      home.strike = ({ operation, body }) =>
        operation === 'update_property_settings' && body.includes('false') ? fault : null;
      expect(await command('60')).toMatchObject({
        status: 'error',
        reason: expect.stringContaining('It is turned on again'),
      });
      await home.pass(minuteMs);
      expect([isOn(), pause()]).toEqual([true, none]);
      expect(sent().at(-1)).toEqual(on);
    },
  );

  it.each<[string, RequestFault | ChangeAnswer, string]>([
    ['cannot be read', 'hang-after', 'Nothing was changed'],
    ['shows for a moment what was', showingOn, 'it is not known'],
  ])('%s leaves the earlier pause as it was', async (_, fault, reason) => {
    const { home, command, pause, isOn } = await pausedHome();
    await command('60');
    const { until } = pause();
    home.strike = ({ operation }) => (operation === 'read_property_settings' ? fault : null);
    expect(await command('600')).toMatchObject({ reason: expect.stringContaining(reason) });
    home.strike = () => null;
    expect(pause().until).toBe(until);
    home.bridge.kill();
    await home.start();
    expect(pause().until).toBe(until);
    await home.pass(hourMs);
    expect(isOn()).toBe(true);
  });
});

const answer = (status: number) => ({
  status,
  headers: { 'content-type': 'application/json' },
  text: '{}',
});
