import { beforeAll, describe, expect, it } from 'vitest';
import { fault, type House, hourly, startHouse } from '../support/house.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { waitFor } from '../support/waitFor.ts';

/** The sonic of a house with one. */
function theSonic(house: House): { id: string; topic: string; set: string } {
  const [id = ''] = house.simulator.world.sonics.ids;
  return { id, topic: `sonic2mqtt/sonic/${id}`, set: `sonic2mqtt/sonic/${id}/valve/set` };
}

async function houseWithOneValve(options: Parameters<typeof startHouse>[0] = {}): Promise<House> {
  const house = await startHouse({
    ...options,
    cloud: { properties: 1, signals: 1, sonics: 1, ...options.cloud },
  });
  await house.watcher.waitForTopic(`${theSonic(house).topic}/incidents`, () => true, 10_000);
  return house;
}

const outcomes = (house: House) =>
  house.events('command').map(({ topic: _, event: __, at: ___, ...rest }) => rest);

describe('a valve command', () => {
  let house: House;
  beforeAll(async () => {
    house = await houseWithOneValve();
  });

  it.each([
    ['', /an empty message/],
    ['toggle', /OPEN or CLOSE/],
    ['{"action":"explode"}', /OPEN or CLOSE/],
    ['{"action":', /OPEN or CLOSE/],
    ['null', /OPEN or CLOSE/],
    ['{"action":["open"],"x":"close"}'.repeat(100), /OPEN or CLOSE/],
  ])('that says %j is refused with what it must say, and reaches no cloud', async (payload, words) => {
    const before = house.events('command').length;
    await house.watcher.publish(theSonic(house).set, payload);
    await waitFor(() => house.events('command').length > before, { what: 'the outcome' });
    expect(house.events('command').at(-1)).toMatchObject({
      status: 'refused',
      reason: expect.stringMatching(words),
    });
    expect(house.simulator.requests.count('command_valve')).toBe(0);
  });

  it('to a sonic that does not exist is refused', async () => {
    await house.watcher.publish('sonic2mqtt/sonic/nobody/valve/set', 'CLOSE');
    await waitFor(() => house.events('command').some(({ reason }) => reason === 'there is no sonic nobody'), {
      what: 'the refusal',
    });
    expect(house.simulator.requests.count('command_valve')).toBe(0);
  });

  it.skipIf(!mosquittoAvailable())(
    'with the retain flag is refused, live and after a reconnection',
    async () => {
      const { set } = theSonic(house);
      await house.watcher.publish(set, 'CLOSE', { retain: true });
      const refused = () =>
        house.events('command').filter(({ reason }) => String(reason).startsWith('a retained command'));
      await waitFor(() => refused().length === 1, { what: 'the live refusal, which MQTT 5 makes possible' });
      await house.bridge.stop();
      house.startBridge();
      await waitFor(() => refused().length === 2, {
        what: 'the refusal at the next start',
        timeoutMs: 10_000,
      });
      await house.watcher.publish(set, '', { retain: true });
      expect(house.simulator.requests.count('command_valve')).toBe(0);
      expect(house.simulator.world.valve(theSonic(house).id)?.settled).toBe('open');
    },
  );
});

describe('valve safety', () => {
  it('sends a command once when the cloud breaks off, and says that it failed', async () => {
    for (const trouble of ['error=503@command_valve', 'reset@command_valve', 'html@command_valve']) {
      const house = await houseWithOneValve();
      house.simulator.setFaults([fault(trouble)]);
      await house.watcher.publish(theSonic(house).set, 'CLOSE');
      await waitFor(() => outcomes(house).length === 1, { what: `the outcome of ${trouble}` });
      const isAnswered = trouble.startsWith('html');
      expect(outcomes(house)[0]).toMatchObject({ status: isAnswered ? 'ok' : 'error' });
      expect(house.simulator.requests.count('command_valve')).toBe(1);
      if (trouble.includes('503')) expect(outcomes(house)[0]).toMatchObject({ http_status: 503 });
      expect(house.json(`sonic/${theSonic(house).id}`).valve).not.toBe('closed');
      await house.bridge.stop('SIGKILL');
    }
  });

  it('looks where the valves are when the answer to a command was lost', async () => {
    const house = await houseWithOneValve({ config: { schedules: hourly } });
    const read = () => house.simulator.requests.count('list_sonics');
    const before = read();
    house.simulator.setFaults([fault('reset@command_valve')]);
    await house.watcher.publish(theSonic(house).set, 'CLOSE');
    await waitFor(() => read() > before, { what: 'the valves to be read' });
  });

  it('fails a command within the request timeout when the cloud hangs, and never replays it', async () => {
    const house = await houseWithOneValve({ config: { cloud: { request_timeout: '600ms' } } });
    house.simulator.setFaults([fault('hang@command_valve')]);
    const sentAt = performance.now();
    await house.watcher.publish(theSonic(house).set, 'CLOSE');
    await waitFor(() => outcomes(house).length === 1, { what: 'the outcome' });
    expect(performance.now() - sentAt).toBeLessThan(1_500);
    expect(outcomes(house)[0]).toMatchObject({ status: 'error' });
    house.simulator.setFaults([]);
    const polled = house.simulator.requests.count('list_sonics');
    await waitFor(() => house.simulator.requests.count('list_sonics') > polled + 3, { what: 'some polls' });
    expect(house.simulator.requests.count('command_valve')).toBe(1);
    expect(house.json(`sonic/${theSonic(house).id}`).valve).toBe('open');
  });

  it('does not give a command that waited more time than one that did not', async () => {
    // Pings are rare enough for both commands to come between two of them, so that their time starts at one moment.
    const house = await houseWithOneValve({ config: { cloud: { request_timeout: '3s' } } });
    house.simulator.setFaults([fault('hang@command_valve')]);
    const sentAt = performance.now();
    for (const payload of ['CLOSE', 'OPEN']) await house.watcher.publish(theSonic(house).set, payload);
    await waitFor(() => outcomes(house).length === 2, { what: 'both outcomes', timeoutMs: 10_000 });
    expect(performance.now() - sentAt).toBeLessThan(4_500);
    expect(outcomes(house).map(({ status }) => status)).toEqual(['error', 'error']);
    expect(outcomes(house)[1]).toMatchObject({ reason: expect.stringContaining('it was not sent') });
    expect(house.simulator.requests.count('command_valve')).toBe(1);
  });

  it('lets the newest of the commands that wait win', async () => {
    const house = await houseWithOneValve();
    house.simulator.setFaults([fault('latency=500@command_valve')]);
    const { set } = theSonic(house);
    for (const payload of ['CLOSE', 'OPEN', 'CLOSE', 'OPEN']) await house.watcher.publish(set, payload);
    await waitFor(() => outcomes(house).length === 4, { what: 'four outcomes' });
    expect(outcomes(house).map(({ status }) => status)).toEqual(['superseded', 'superseded', 'ok', 'ok']);
    const sent = house.simulator.requests.entries.filter(({ operation }) => operation === 'command_valve');
    expect(sent.map(({ body }) => body)).toEqual([{ action: 'close' }, { action: 'open' }]);
  });

  it('does not send a command again that the cloud put off, once a newer one has come', async () => {
    const house = await houseWithOneValve({ config: { cloud: { request_timeout: '5s' } } });
    const { set } = theSonic(house);
    house.simulator.setFaults([fault('rate-limit=2@command_valve')]);
    await house.watcher.publish(set, 'OPEN');
    const asked = () =>
      house.simulator.requests.entries.filter(({ operation }) => operation === 'command_valve');
    await waitFor(() => asked().length === 1, { what: 'the first command to be put off' });
    house.simulator.setFaults([]);
    await house.watcher.publish(set, 'CLOSE');
    await waitFor(() => outcomes(house).length === 2, { what: 'both outcomes' });
    expect(outcomes(house)).toMatchObject([
      { status: 'superseded', reason: 'a newer command for this valve arrived' },
      { status: 'ok' },
    ]);
    expect(asked().map(({ body }) => body)).toEqual([{ action: 'open' }, { action: 'close' }]);
  });

  it('is sent at once although requests for changes hang', async () => {
    const house = await houseWithOneValve({ config: { cloud: { request_timeout: '20s' } } });
    const { id, set } = theSonic(house);
    house.simulator.setFaults([fault('hang@update_sonic')]);
    for (let count = 0; count < 6; count++) {
      const request = JSON.stringify({ params: { sonic_id: id }, body: { name: `Name ${count}` } });
      await house.watcher.publish('sonic2mqtt/bridge/request/update_sonic', request);
    }
    const count = (name: 'update_sonic' | 'command_valve') => house.simulator.requests.count(name);
    await waitFor(() => count('update_sonic') > 2, { what: 'requests to hang' });
    await house.watcher.publish(set, 'CLOSE');
    await waitFor(() => count('command_valve') === 1, { what: 'the valve to be told' });
  });

  it('says not_confirmed when the valve does not follow, and the word of the cloud stands', async () => {
    const house = await houseWithOneValve({
      config: { valve: { confirm_timeout: '700ms', confirm_interval: '100ms' } },
    });
    const { id, set } = theSonic(house);
    house.simulator.world.dropRadio(id);
    await house.watcher.waitForTopic(`sonic2mqtt/sonic/${id}/availability`, (text) => text === 'offline');
    await house.watcher.publish(set, 'CLOSE');
    await waitFor(() => outcomes(house).length === 2, { what: 'both outcomes' });
    await house.watcher.waitForTopic(
      `sonic2mqtt/sonic/${id}`,
      (text) => JSON.parse(text).valve !== 'closing',
    );
    const shown = house.watcher.messages.filter(({ topic }) => topic === `sonic2mqtt/sonic/${id}`);
    expect(shown.map(({ text }) => JSON.parse(text).valve)).toContain('closing');
    expect(outcomes(house)).toMatchObject([{ status: 'ok' }, { status: 'error', reason: 'not_confirmed' }]);
    expect(house.json(`sonic/${id}`).valve).not.toBe('closed');
    expect(house.simulator.requests.count('command_valve')).toBe(1);
  });

  it('says not_confirmed in time although the cloud hangs when it is asked about the valve', async () => {
    const house = await houseWithOneValve({
      config: {
        cloud: { request_timeout: '30s' },
        valve: { confirm_timeout: '700ms', confirm_interval: '100ms' },
      },
    });
    const { set } = theSonic(house);
    house.simulator.setFaults([fault('hang@read_sonic'), fault('hang@list_sonics')]);
    await house.watcher.publish(set, 'CLOSE');
    await waitFor(() => outcomes(house).length === 2, { what: 'both outcomes', timeoutMs: 10_000 });
    expect(outcomes(house)).toMatchObject([{ status: 'ok' }, { status: 'error', reason: 'not_confirmed' }]);
  });

  it('keeps the last settled position through a pressure test, and shows nothing for a faulty valve', async () => {
    const house = await houseWithOneValve();
    const { id, topic } = theSonic(house);
    const shown = (text: string) => JSON.parse(text);
    house.simulator.world.setValve(id, 'pressure_test');
    await house.watcher.waitForTopic(topic, (text) => shown(text).valve_state === 'pressure_test');
    expect(house.json(`sonic/${id}`).valve).toBe('open');
    await house.watcher.waitForTopic(
      `${topic}/homeassistant`,
      (text) => shown(text).pressure_test_running === 'ON',
    );
    expect(house.json(`sonic/${id}/homeassistant`)).toMatchObject({
      valve: 'open',
      valve_state: 'pressure_test',
    });
    house.simulator.world.setValve(id, 'faulty');
    await house.watcher.waitForTopic(topic, (text) => shown(text).valve === null);
    await house.watcher.waitForTopic(`${topic}/homeassistant`, (text) => shown(text).valve_problem === 'ON');
    house.simulator.world.setValve(id, 'half_way');
    await house.watcher.waitForTopic(topic, (text) => shown(text).valve_state === 'half_way');
    expect(house.json(`sonic/${id}`).valve).toBeNull();
    expect(house.simulator.requests.count('command_valve')).toBe(0);
  });

  it('refuses what control forbids, and Home Assistant has no valve then', async () => {
    const house = await houseWithOneValve({ config: { control: { valves: false } } });
    const { id, set } = theSonic(house);
    await house.watcher.publish(set, 'CLOSE');
    await waitFor(() => outcomes(house).length === 1, { what: 'the refusal' });
    expect(outcomes(house)[0]).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining('control.valves'),
    });
    const discovery = house.watcher.json(`homeassistant/device/sonic2mqtt_${id}/config`) as {
      components: object;
    };
    expect(discovery.components).not.toHaveProperty('valve_valve');
    expect(house.simulator.requests.count('command_valve')).toBe(0);
  });

  it('carries a command out once although the session had expired', async () => {
    const house = await houseWithOneValve({
      config: {
        schedules: hourly,
      },
    });
    house.simulator.expireTokens();
    await house.watcher.publish(theSonic(house).set, 'CLOSE');
    await waitFor(() => outcomes(house).length === 1, { what: 'the outcome' });
    expect(outcomes(house)[0]).toMatchObject({ status: 'ok' });
    const accepted = house.simulator.requests.entries.filter(
      ({ operation, status }) => operation === 'command_valve' && status === 200,
    );
    expect(accepted).toHaveLength(1);
  });
});

describe('the bridge itself', () => {
  it('polls everything at once when asked to refresh', async () => {
    const house = await houseWithOneValve({ config: { schedules: hourly } });
    const watcher = await watchTopics(house.broker.url, 'sonic2mqtt/sonic/+');
    const { id, topic } = theSonic(house);
    house.simulator.world.setValve(id, 'closed');
    await house.watcher.publish('sonic2mqtt/bridge/refresh', '');
    await watcher.waitForTopic(topic, (text) => JSON.parse(text).valve === 'closed');
    expect(house.events('command')).toMatchObject([{ topic: 'sonic2mqtt/bridge/refresh', status: 'ok' }]);
  });

  it('changes its log level when asked to, and says which levels there are', async () => {
    const house = await houseWithOneValve();
    await house.watcher.publish('sonic2mqtt/bridge/log_level/set', 'debug');
    await house.watcher.waitForTopic(
      'sonic2mqtt/bridge/homeassistant',
      (text) => JSON.parse(text).log_level === 'debug',
    );
    await house.watcher.publish('sonic2mqtt/bridge/log_level/set', 'verbose');
    await waitFor(() => house.events('command').length === 2, { what: 'the refusal' });
    expect(house.events('command')[1]).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining('debug, info'),
    });
  });
});
