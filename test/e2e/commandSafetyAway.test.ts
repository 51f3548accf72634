import { describe, expect, it } from 'vitest';
import {
  changesAt,
  changingCommands,
  fence,
  houseForCommands,
  outcomes,
  publishAll,
  type SafetyCommand,
  shown,
  slow,
} from '../support/commandTable.ts';
import { fault, hourly } from '../support/house.ts';
import { mosquittoAvailable, startMosquitto } from '../support/mosquitto.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { startTcpProxy } from '../support/tcpProxy.ts';

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
    expect(house.bridge.output).toContain('rejected: sonic2mqtt is stopping. The command was not sent');
    expect(changesAt(house)).toEqual([]);
  });
});
