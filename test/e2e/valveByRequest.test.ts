import { describe, expect, it } from 'vitest';
import { fault, hourly, startHouse } from '../support/house.ts';
import { answersTo, asked, outcomes, request, shownHouse, sonicId } from '../support/requester.ts';
import { waitFor } from '../support/waitFor.ts';

describe('a valve by request', () => {
  const calm = { schedules: hourly };
  const valve = (sonic_id: string, action: string, transaction: unknown = null) =>
    JSON.stringify({ params: { sonic_id }, body: { action }, transaction });
  const thing = (thing_id: string, action: string, transaction: unknown = null) =>
    JSON.stringify({ params: { thing_id }, body: { action }, transaction });

  it('moves, is shown moving and then as the cloud confirms it', async () => {
    const house = await shownHouse({ config: calm });
    const id = sonicId(house);
    const topic = `sonic2mqtt/sonic/${id}`;
    expect(await request(house, 'command_valve', valve(id, 'close'))).toEqual({
      status: 'ok',
      data: null,
      transaction: null,
    });
    await house.watcher.waitForTopic(topic, (text) => JSON.parse(text).valve === 'closed');
    const shown = house.watcher.messages.filter((message) => message.topic === topic);
    expect(shown.map(({ text }) => JSON.parse(text).valve)).toContain('closing');
    expect(await request(house, 'change_thing_state', thing(id, 'open'))).toMatchObject({
      status: 'ok',
      data: { status: 'ok' },
    });
    await house.watcher.waitForTopic(topic, (text) => JSON.parse(text).valve === 'opening');
    await house.watcher.waitForTopic(topic, (text) => JSON.parse(text).valve === 'open');
    expect(house.events('command').map(({ status }) => status)).toEqual(['ok', 'ok']);
  });

  it('shares one lane with its own topic, whichever operation is asked for: the newest that waits wins', async () => {
    const house = await shownHouse({ config: calm });
    const id = sonicId(house);
    house.simulator.setFaults([fault('latency=600@command_valve'), fault('latency=600@change_thing_state')]);
    const at = (operation: string) => `sonic2mqtt/bridge/request/${operation}`;
    await house.watcher.publish(at('command_valve'), valve(id, 'close', 1));
    await house.watcher.publish(at('change_thing_state'), thing(id, 'open', 2));
    await house.watcher.publish(`sonic2mqtt/sonic/${id}/valve/set`, 'OPEN');
    await house.watcher.publish(at('command_valve'), valve(id, 'open', 3));
    await house.watcher.publish(at('change_thing_state'), thing(id, 'open', 4));
    await waitFor(() => house.events('command').length === 5, { what: 'five outcomes' });
    const summary = house
      .events('command')
      .map(({ topic, status }) => [String(topic).split('/').at(-1), status]);
    expect(summary).toEqual([
      ['change_thing_state', 'superseded'],
      ['set', 'superseded'],
      ['command_valve', 'superseded'],
      ['command_valve', 'ok'],
      ['change_thing_state', 'ok'],
    ]);
    const superseded = {
      code: 'rate_limited',
      message: 'superseded: a newer command for this valve arrived',
      http_status: null,
    };
    await waitFor(() => answersTo(house, 'change_thing_state').length === 2, { what: 'the answers' });
    expect(answersTo(house, 'change_thing_state')).toEqual([
      { status: 'error', error: superseded, transaction: 2 },
      { status: 'ok', data: { status: 'ok' }, transaction: 4 },
    ]);
    expect(answersTo(house, 'command_valve')).toEqual([
      { status: 'error', error: superseded, transaction: 3 },
      { status: 'ok', data: null, transaction: 1 },
    ]);
    expect(asked(house, 'command_valve').map(({ body }) => body)).toEqual([{ action: 'close' }]);
    expect(asked(house, 'change_thing_state').map(({ body }) => body)).toEqual([{ action: 'open' }]);
  });

  it('that is wrong supersedes nothing', async () => {
    const house = await shownHouse({ config: calm });
    const id = sonicId(house);
    house.simulator.setFaults([fault('latency=500@command_valve')]);
    const set = `sonic2mqtt/sonic/${id}/valve/set`;
    await house.watcher.publish(set, 'CLOSE');
    await house.watcher.publish(set, 'OPEN');
    expect((await request(house, 'command_valve', valve(id, 'explode'))).error?.code).toBe('invalid_request');
    await waitFor(() => house.events('command').length === 3, { what: 'three outcomes' });
    expect(house.events('command').map(({ status }) => status)).toEqual(['refused', 'ok', 'ok']);
  });

  it('is sent once when the cloud breaks off or fails, and never later', async () => {
    const house = await shownHouse({ config: calm });
    for (const [trouble, code] of [
      ['error=503', 'cloud_unavailable'],
      ['reset', 'cloud_unavailable'],
      ['hang', 'timeout'],
    ] as const) {
      house.simulator.setFaults([fault(`${trouble}@command_valve`)]);
      const before = asked(house, 'command_valve').length;
      const { error } = await request(house, 'command_valve', valve(sonicId(house), 'close'));
      expect(error?.code).toBe(code);
      expect(asked(house, 'command_valve')).toHaveLength(before + 1);
    }
    expect(house.json(`sonic/${sonicId(house)}`).valve).toBe('open');
  });

  it('that does not follow is told as not_confirmed', async () => {
    const house = await shownHouse({
      config: { ...calm, valve: { confirm_timeout: '700ms', confirm_interval: '100ms' } },
    });
    const id = sonicId(house);
    house.simulator.world.dropRadio(id);
    expect((await request(house, 'command_valve', valve(id, 'close'))).status).toBe('ok');
    await waitFor(() => outcomes(house, 'command_valve').length === 2, { what: 'both outcomes' });
    expect(outcomes(house, 'command_valve')).toMatchObject([
      { status: 'ok' },
      { status: 'error', reason: 'not_confirmed' },
    ]);
    expect(answersTo(house, 'command_valve')).toHaveLength(1);
  });

  it('that the filters hide moves too, confirmed and not shown', async () => {
    const confirm = { confirm_timeout: '2s', confirm_interval: '100ms' };
    const simulated = { properties: 2, signals: 2, sonics: 2 };
    const house = await startHouse({
      cloud: simulated,
      config: { ...calm, valve: confirm },
      isStarted: false,
    });
    const { world } = house.simulator;
    const [shown = '', hidden = ''] = world.sonics.ids;
    house.startBridge({ filters: { properties: [world.propertyOf(shown)] } });
    await house.watcher.waitForTopic(`sonic2mqtt/sonic/${shown}/incidents`, () => true, 10_000);
    expect(house.watcher.last.has(`sonic2mqtt/sonic/${hidden}`)).toBe(false);
    expect((await request(house, 'command_valve', valve(hidden, 'close'))).status).toBe('ok');
    await house.bridge.waitForOutput(new RegExp(`Valve "${hidden}": closed after`));
    expect(outcomes(house, 'command_valve')).toMatchObject([{ status: 'ok' }]);
    expect(house.watcher.last.has(`sonic2mqtt/sonic/${hidden}`)).toBe(false);
  });

  it('of a sonic on Wi-Fi is confirmed by its own record', async () => {
    const house = await shownHouse({ cloud: { wifiSonics: 1 }, config: calm });
    const [id = ''] = house.simulator.world.wifiSonics.ids;
    expect((await request(house, 'command_wifi_valve', valve(id, 'close'))).status).toBe('ok');
    await house.bridge.waitForOutput(/Valve ".*": closed after/);
    expect(asked(house, 'read_wifi_sonic').length).toBeGreaterThan(0);
    expect(asked(house, 'read_sonic')).toEqual([]);
  });

  it('that is asked for something else than to move is passed on, in its lane', async () => {
    const house = await shownHouse({ config: calm });
    const id = sonicId(house);
    const { error } = await request(house, 'change_thing_state', thing(id, 'blink'));
    expect(error).toMatchObject({ code: 'validation_failed', http_status: 422 });
    expect(asked(house, 'change_thing_state').map(({ body }) => body)).toEqual([{ action: 'blink' }]);
    expect(house.json(`sonic/${id}`).valve).toBe('open');
  });
});
