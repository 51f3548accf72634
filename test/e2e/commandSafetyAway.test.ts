import { describe, expect, it } from 'vitest';
import { fault, hourly } from '../support/bridge.ts';
import {
  changingCommands,
  fence,
  outcomes,
  publishAll,
  type SafetyCommand,
  shown,
  startBridgeForCommands,
} from '../support/commandTable.ts';
import { mosquittoAvailable, startMosquitto } from '../support/mosquitto.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { startTcpProxy } from '../support/tcpProxy.ts';

describe.skipIf(!mosquittoAvailable())('while the broker is away', () => {
  it('a command whose outcome nobody hears is carried out once, and shown afterwards', async () => {
    const bridge = await startBridgeForCommands({ isStarted: false });
    const proxy = await startTcpProxy(Number(new URL(bridge.broker.url).port));
    bridge.start({ mqtt: { url: `mqtt://127.0.0.1:${proxy.port}` } });
    await shown(bridge);
    const [valve] = changingCommands(bridge) as [SafetyCommand];
    bridge.cloud.setFaults([fault('latency=400@command_valve')]);
    await publishAll(bridge, [valve]);
    await bridge.program.waitForOutput(/Closing valve ".*" \(MQTT command\)/);
    proxy.cut();
    await bridge.program.waitForOutput(/close command accepted by the cloud/);
    proxy.repair();
    const [, , id] = valve.topic.split('/');
    await bridge.mqtt.waitForTopic(
      `sonic2mqtt/sonic/${id}`,
      (text) => JSON.parse(text).valve === 'closed',
      20_000,
    );
    await fence(bridge);
    expect(outcomes(bridge).length).toBeLessThanOrEqual(1);
    expect(bridge.changesSent().map(({ operation }) => operation)).toEqual(['command_valve']);
  });

  it.each([5, 4])('commands go nowhere with MQTT version %i, not even when it is back', async (version) => {
    const bridge = await startBridgeForCommands({ isStarted: false, config: { schedules: hourly } });
    const proxy = await startTcpProxy(Number(new URL(bridge.broker.url).port));
    bridge.start({ mqtt: { url: `mqtt://127.0.0.1:${proxy.port}`, protocol_version: version } });
    await shown(bridge);
    proxy.cut();
    await bridge.mqtt.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'offline');
    await publishAll(bridge, changingCommands(bridge));
    proxy.repair();
    await bridge.mqtt.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'online');
    await fence(bridge);
    expect(outcomes(bridge)).toEqual([]);
    expect(bridge.changesSent()).toEqual([]);
  });
});

describe.skipIf(!mosquittoAvailable())('during the stop', () => {
  it('a command of any kind that still arrives is not carried out', async () => {
    const bridge = await startBridgeForCommands({ isStarted: false, config: { schedules: hourly } });
    const broker = await startMosquitto();
    bridge.start({ mqtt: { url: broker.url } });
    const watcher = await watchTopics(broker.url, 'sonic2mqtt/#');
    for (const id of bridge.cloud.world.sonics.ids) {
      await watcher.waitForTopic(`sonic2mqtt/sonic/${id}/incidents`);
    }
    // A broker that sleeps takes its time to hear the goodbye, and delivers meanwhile what came before.
    await broker.kill('SIGSTOP');
    const sent = changingCommands(bridge).map(({ topic, payload }) => watcher.publish(topic, payload));
    const ending = bridge.program.stop('SIGTERM');
    await bridge.program.waitForOutput(/Stopping/);
    await broker.kill('SIGCONT');
    await Promise.all(sent);
    expect(await ending).toMatchObject({ code: 0 });
    expect(bridge.program.output).toContain('rejected: sonic2mqtt is stopping. The command was not sent');
    expect(bridge.changesSent()).toEqual([]);
  });
});
