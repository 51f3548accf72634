import { describe, expect, it } from 'vitest';
import { Simulator } from '../../src/simulator/simulator.ts';
import { atTestEnd } from '../support/childProcess.ts';
import {
  changesAt,
  changingCommands,
  fence,
  houseForCommands,
  outcomes,
  outcomesOf,
  publishAll,
  type SafetyCommand,
  shown,
  slow,
} from '../support/commandTable.ts';
import { fault, type House, hourly } from '../support/house.ts';
import { mosquittoAvailable, startMosquitto } from '../support/mosquitto.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { startTcpProxy } from '../support/tcpProxy.ts';
import { waitFor } from '../support/waitFor.ts';

const patient = { schedules: hourly, cloud: { request_timeout: '10s' } };
/** For what never answers. */
const hasty = { schedules: hourly, cloud: { request_timeout: '800ms' } };

/** Topics in an order of their own: of different lanes nobody knows which ends first. */
const topicsOf = (things: readonly { topic: string }[]) => things.map(({ topic }) => topic).toSorted();

const isAccepted = ({ status }: { status: number | null }) => status !== null && status < 300;

/** The state of everything that a command could have changed. */
const truth = ({ simulator: { world } }: House) =>
  JSON.stringify([
    [...world.sonics.values()],
    [...world.signals.values()],
    [...world.properties.values()],
    [...world.incidents.values()],
    world.properties.ids.map((id) => [world.settings.get(id), world.notifications.get(id)]),
  ]);

describe(
  'while the cloud is away, a command of any kind fails once, in time, and is not sent later',
  slow,
  () => {
    it('where it answers 503', async () => {
      const house = await houseForCommands({ config: patient });
      const before = truth(house);
      const commands = changingCommands(house);
      house.simulator.setFaults([fault('error=503')]);
      const told = await outcomesOf(house, commands);
      expect(topicsOf(told)).toEqual(topicsOf(commands));
      for (const outcome of told) {
        expect(outcome).toMatchObject({ status: 'error', reason: expect.any(String), http_status: 503 });
      }
      await backAgain(house);
      expect(changesAt(house).map(({ status }) => status)).toEqual(Array(commands.length).fill(503));
      expect(truth(house)).toBe(before);
    });

    it('where it asks to wait for a minute', async () => {
      const house = await houseForCommands({ config: patient });
      const before = truth(house);
      const commands = changingCommands(house);
      house.simulator.setFaults([fault('rate-limit=60')]);
      const told = await outcomesOf(house, commands);
      expect(topicsOf(told)).toEqual(topicsOf(commands));
      for (const outcome of told) expect(outcome).toMatchObject({ status: 'error', http_status: 429 });
      await fence(house);
      expect(changesAt(house).map(({ status }) => status)).toEqual(Array(commands.length).fill(429));
      expect(truth(house)).toBe(before);
    });

    it('where it never answers', async () => {
      const house = await houseForCommands({ config: hasty });
      const before = truth(house);
      const commands = changingCommands(house);
      house.simulator.setFaults([fault('hang')]);
      const told = await outcomesOf(house, commands);
      expect(topicsOf(told)).toEqual(topicsOf(commands));
      for (const outcome of told) {
        expect(outcome).toMatchObject({
          status: 'error',
          reason: expect.stringMatching(/time/),
          http_status: null,
        });
      }
      await backAgain(house);
      const sent = changesAt(house);
      expect(sent.length).toBeGreaterThan(0);
      expect(new Set(sent.map(({ path, body }) => path + JSON.stringify(body))).size).toBe(sent.length);
      const unsent = told.filter(({ reason }) =>
        /not sent|before the cloud could be asked/.test(reason ?? ''),
      );
      expect(sent.length + unsent.length).toBe(commands.length);
      expect(truth(house)).toBe(before);
    });

    it('where nobody listens, and where somebody does again', async () => {
      const house = await houseForCommands({ config: patient });
      const commands = changingCommands(house);
      const { url } = house.simulator;
      await house.simulator.stop();
      const told = await outcomesOf(house, commands);
      expect(topicsOf(told)).toEqual(topicsOf(commands));
      for (const outcome of told) {
        const reason = expect.stringMatching(/refused|not sent|time|broke/);
        expect(outcome).toMatchObject({ status: 'error', reason, http_status: null });
      }
      const again = new Simulator({ quiet: true, port: Number(new URL(url).port), sonics: 4, signals: 2 });
      await again.start();
      atTestEnd(() => again.stop());
      await house.watcher.publish('sonic2mqtt/bridge/refresh', '');
      await waitFor(() => again.requests.count('list_sonics') > 0, {
        what: 'the bridge to be back',
        timeoutMs: 20_000,
      });
      await fence(house);
      expect(changesAt({ simulator: again })).toEqual([]);
    });

    /** The cloud is there again, and everything was asked for. */
    async function backAgain(house: House): Promise<void> {
      house.simulator.setFaults([]);
      const polled = house.simulator.requests.count('list_incidents');
      await house.watcher.publish('sonic2mqtt/bridge/refresh', '');
      await waitFor(() => house.simulator.requests.count('list_incidents') > polled, {
        what: 'a poll',
        timeoutMs: 20_000,
      });
      await fence(house);
    }
  },
);

describe('while nobody is signed in, a command of any kind', slow, () => {
  it('fails once with the reason where the password is rejected, and is not sent later', async () => {
    const house = await houseForCommands({ config: patient });
    const before = truth(house);
    const commands = changingCommands(house);
    house.simulator.rejectPassword();
    const told = await outcomesOf(house, commands);
    expect(topicsOf(told)).toEqual(topicsOf(commands));
    for (const outcome of told) {
      const reason = expect.stringMatching(/rejected the e-mail or password|there is no session|not sent/);
      expect(outcome).toMatchObject({ status: 'error', reason });
    }
    expect(house.simulator.requests.count('sign_in')).toBeLessThanOrEqual(3);
    house.simulator.setPassword('demo');
    await house.watcher.publish('sonic2mqtt/bridge/refresh', '');
    const isSignedIn = ({ operation, status }: { operation: string | null; status: number | null }) =>
      operation === 'sign_in' && status === 200;
    await waitFor(() => house.simulator.requests.entries.filter(isSignedIn).length > 1, {
      what: 'the bridge to sign in again',
      timeoutMs: 20_000,
    });
    await fence(house);
    expect(changesAt(house).filter(isAccepted)).toEqual([]);
    expect(truth(house)).toBe(before);
  });

  it('is carried out once where the token was revoked meanwhile', async () => {
    const house = await houseForCommands({ config: patient });
    const commands = changingCommands(house);
    house.simulator.expireTokens();
    const told = await outcomesOf(house, commands);
    expect(topicsOf(told)).toEqual(topicsOf(commands));
    for (const outcome of told) expect(outcome).toMatchObject({ status: 'ok', http_status: 200 });
    expect(changesAt(house).filter(isAccepted)).toHaveLength(commands.length);
    expect(changesAt(house).every((sent) => isAccepted(sent) || sent.status === 401)).toBe(true);
  });

  it('fails within the time of one sign-in more where that hangs, and is not sent later', async () => {
    const house = await houseForCommands({ config: hasty });
    const before = truth(house);
    const commands = changingCommands(house);
    house.simulator.expireTokens();
    house.simulator.setFaults([fault('hang@sign_in'), fault('hang@refresh_token')]);
    const told = await outcomesOf(house, commands);
    expect(topicsOf(told)).toEqual(topicsOf(commands));
    for (const outcome of told) expect(outcome).toMatchObject({ status: 'error' });
    house.simulator.setFaults([]);
    const polled = house.simulator.requests.count('list_incidents');
    await house.watcher.publish('sonic2mqtt/bridge/refresh', '');
    await waitFor(() => house.simulator.requests.count('list_incidents') > polled, {
      what: 'a poll',
      timeoutMs: 20_000,
    });
    await fence(house);
    expect(changesAt(house).filter(isAccepted)).toEqual([]);
    expect(truth(house)).toBe(before);
  });
});

describe.skipIf(!mosquittoAvailable())('while the broker is away', slow, () => {
  it('a command whose outcome nobody hears is carried out once, and shown afterwards', async () => {
    const house = await houseForCommands({ isStarted: false });
    const proxy = await startTcpProxy(Number(new URL(house.broker.url).port));
    house.startBridge({ mqtt: { url: `mqtt://127.0.0.1:${proxy.port}` } });
    await shown(house);
    const [valve] = changingCommands(house) as [SafetyCommand];
    house.simulator.setFaults([fault('latency=400@command_valve')]);
    await publishAll(house, [valve]);
    await house.bridge.waitForOutput(/Closing valve ".*" \(MQTT command\)/);
    proxy.cut();
    await house.bridge.waitForOutput(/close command accepted by the cloud/);
    proxy.mend();
    const [, , id] = valve.topic.split('/');
    await house.watcher.waitForTopic(
      `sonic2mqtt/sonic/${id}`,
      (text) => JSON.parse(text).valve === 'closed',
      20_000,
    );
    await fence(house);
    expect(outcomes(house).length).toBeLessThanOrEqual(1);
    expect(changesAt(house).map(({ operation }) => operation)).toEqual(['command_valve']);
  });

  it.each([5, 4])('commands go nowhere with MQTT version %i, not even when it is back', async (version) => {
    const house = await houseForCommands({ isStarted: false, config: { schedules: hourly } });
    const proxy = await startTcpProxy(Number(new URL(house.broker.url).port));
    house.startBridge({ mqtt: { url: `mqtt://127.0.0.1:${proxy.port}`, protocol_version: version } });
    await shown(house);
    proxy.cut();
    await house.watcher.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'offline', 20_000);
    await publishAll(house, changingCommands(house));
    proxy.mend();
    await house.watcher.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'online', 20_000);
    await fence(house);
    expect(outcomes(house)).toEqual([]);
    expect(changesAt(house)).toEqual([]);
  });
});

describe.skipIf(!mosquittoAvailable())('during the stop', slow, () => {
  it('a command of any kind that still arrives is not carried out', async () => {
    const house = await houseForCommands({ isStarted: false, config: { schedules: hourly } });
    const broker = await startMosquitto();
    house.startBridge({ mqtt: { url: broker.url } });
    const watcher = await watchTopics(broker.url, 'sonic2mqtt/#');
    for (const id of house.simulator.world.sonics.ids) {
      await watcher.waitForTopic(`sonic2mqtt/sonic/${id}/incidents`, () => true, 20_000);
    }
    // A broker that sleeps takes its time to hear the goodbye, and delivers meanwhile what came before.
    await broker.kill('SIGSTOP');
    const sent = changingCommands(house).map(({ topic, payload }) => watcher.publish(topic, payload));
    const ending = house.bridge.stop('SIGTERM');
    await house.bridge.waitForOutput(/Stopping/);
    await broker.kill('SIGCONT');
    await Promise.all(sent);
    expect(await ending).toMatchObject({ code: 0 });
    expect(house.bridge.output).toContain('rejected: the bridge is stopping: it was not sent');
    expect(changesAt(house)).toEqual([]);
  });
});
