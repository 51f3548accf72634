import { beforeAll, describe, expect, it } from 'vitest';
import type { TestBridge } from '../support/bridge.ts';
import { beginStory, startCloudAndBroker } from '../support/brokerStory.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcpProxy.ts';
import { waitFor } from '../support/waitFor.ts';

let bridge: TestBridge;
beforeAll(async () => {
  bridge = await startCloudAndBroker();
});

/** A way to the broker, and its address. */
async function startWay(): Promise<{ way: TcpProxy; url: string }> {
  const way = await startTcpProxy(Number(new URL(bridge.broker.url).port));
  return { way, url: `mqtt://127.0.0.1:${way.port}` };
}

describe('a way to the broker that', () => {
  it('is reset, and then gone for a while, is told once, and afterwards all is as it was', async () => {
    const { way, url } = await startWay();
    // A broker of 3.1.1 remembers all for a client that does not ask it not to.
    const story = await beginStory(bridge, url, { keepalive: '1s', protocol_version: 4 });
    way.reset();
    way.cut();
    await story.changeCloudMeanwhile();
    way.repair();
    await story.untilRestored();
    const reasons = story.warnings().map((line) => line.replace(/^\[.*?\] /, ''));
    // Who writes at the moment of the reset, or is too busy to, hears of it in another way.
    expect(reasons[0]).toMatch(/the connection was (reset|closed)|does not answer any more/);
    expect(reasons).toEqual([...new Set(reasons)]);
    expect(reasons.length).toBeLessThanOrEqual(3);
    expect(story.program.stderr).not.toMatch(/did not take/);
    way.cut();
    await story.program.waitForOutput(/(works again after[\s\S]*WARN.*MQTT broker)/);
    await story.stop();
  }, 90_000);

  it('breaks right behind a command has it carried out once', async () => {
    const { way, url } = await startWay();
    const story = await beginStory(bridge, url);
    const [id = ''] = bridge.cloud.world.sonics.ids;
    const sent = () => bridge.cloud.requests.count('command_valve');
    const before = sent();
    await bridge.mqtt.publish(`sonic2mqtt/sonic/${id}/valve/set`, 'CLOSE');
    await waitFor(() => sent() > before, { what: 'the command to reach the cloud', intervalMs: 1 });
    way.reset();
    const isClosed = (text: string) => JSON.parse(text).valve === 'closed';
    await bridge.mqtt.waitForTopic(`sonic2mqtt/sonic/${id}`, isClosed);
    await story.program.waitForOutput(/works again after/);
    // What the broker had for the bridge comes before its answer to another command.
    await bridge.mqtt.publish(`sonic2mqtt/sonic/${id}/valve/set`, 'nonsense');
    await waitFor(() => bridge.events('command').some(({ status }) => status === 'refused'), {
      what: 'the refusal',
    });
    expect(sent()).toBe(before + 1);
    bridge.cloud.world.setValve(id, 'open');
    await bridge.mqtt.waitForTopic(`sonic2mqtt/sonic/${id}`, (text) => !isClosed(text));
    await story.stop();
  }, 90_000);
});
