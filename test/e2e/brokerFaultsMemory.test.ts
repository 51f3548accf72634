import { describe, expect, it } from 'vitest';
import { startQuietHouse, storyOf, untilShown } from '../support/brokerStory.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { type MqttWatcher, watchTopics } from '../support/mqttWatcher.ts';
import { startScriptedBroker } from '../support/scriptedBroker.ts';
import { startTcpProxy } from '../support/tcpProxy.ts';
import { waitFor } from '../support/waitFor.ts';

const everything = ['sonic2mqtt/#', 'homeassistant/#'];

/** Puts every second of the retained messages back, as a broker does that had not saved the others. */
async function restoreHalf(watcher: MqttWatcher, kept: ReadonlyMap<string, string>): Promise<void> {
  const half = [...kept].filter((_, index) => index % 2 === 0);
  for (const [topic, text] of half) await watcher.publish(topic, text, { retain: true });
}

const isStored = (topic: string) => !/\/(event|incident|status|set)$/.test(topic);

describe.skipIf(!mosquittoAvailable())('a broker', () => {
  it.each([
    ['that restarts empty', false, false],
    ['that restarts with half of what it kept', true, false],
    ['that restarts with half of what it kept, together with the bridge', true, true],
  ])(
    '%s has all again, and no device goes',
    async (_, isHalfKept, isBridgeRestarted) => {
      const house = await startQuietHouse();
      const way = await startTcpProxy(Number(new URL(house.broker.url).port));
      const mqtt = { url: `mqtt://127.0.0.1:${way.port}` };
      house.startBridge({ mqtt });
      await untilShown(house, 0);
      const kept = new Map([...house.watcher.last].filter(([topic]) => isStored(topic)));
      const [first = ''] = house.simulator.world.sonics.ids;
      if (isBridgeRestarted) await house.bridge.stop('SIGKILL');
      way.cut();
      await house.broker.restart();
      const watcher = await watchTopics(house.broker.url, everything);
      if (isHalfKept) await restoreHalf(watcher, kept);
      way.mend();
      if (isBridgeRestarted) house.startBridge({ mqtt });
      await waitFor(() => [...kept.keys()].every((topic) => watcher.last.has(topic)), {
        what: 'all that was kept',
        timeoutMs: 40_000,
      });
      const isShown = () =>
        watcher.messages.filter(({ topic }) => topic.endsWith(`${first}/homeassistant`)).length > 0;
      await waitFor(isShown, { what: 'the sonic' });
      expect(watcher.messages.filter(({ topic, text }) => text === '' && kept.has(topic))).toEqual([]);
      expect(house.bridge.stderr).not.toMatch(/removing entities|Deleted/);
      const newcomer = await watchTopics(house.broker.url, everything);
      const shown = (from: ReadonlyMap<string, string>) =>
        [...from].filter(([topic]) => /config$|availability$|sonic\/[^/]+$/.test(topic)).toSorted();
      expect(shown(newcomer.last)).toEqual(shown(kept));
    },
    90_000,
  );

  it('that shows only a part of what it keeps to a new bridge loses nothing by that', async () => {
    const house = await startQuietHouse();
    house.startBridge();
    await untilShown(house, 0);
    const before = await storyOf(house, house.bridge);
    await before.stop();
    const broker = await startScriptedBroker(house.broker.url);
    let shown = 0;
    broker.play({
      fromBroker: (packet) => packet.cmd === 'publish' && packet.retain && ++shown % 2 === 0,
    });
    const from = house.watcher.messages.length;
    house.startBridge({ mqtt: { url: broker.url } });
    await untilShown(house, from);
    expect(shown).toBeGreaterThan(20);
    const story = await storyOf(house, house.bridge);
    await house.watcher.publish('homeassistant/status', 'online');
    await house.bridge.waitForOutput(/Home Assistant has started/);
    await story.untilWhole();
    const gone = house.watcher.messages
      .slice(from)
      .filter(({ text, topic }) => text === '' && isStored(topic));
    expect(gone).toEqual([]);
    expect(house.bridge.stderr).not.toMatch(/removing entities|Deleted/);
    await story.stop();
  }, 90_000);

  it('that keeps what others have written there shows the truth again, and what is theirs stays', async () => {
    const house = await startQuietHouse();
    const way = await startTcpProxy(Number(new URL(house.broker.url).port));
    const [id = ''] = house.simulator.world.sonics.ids;
    const foreign: Record<string, string> = {
      'homeassistant/device/sonic2mqtt_another/config': JSON.stringify({
        availability: [{ topic: 'another/bridge/state' }],
        components: {},
      }),
      'homeassistant/device/sonic2mqtt_broken/config': '{"availability":',
      'homeassistant/sensor/somebody/config': '{}',
      'sonic2mqtt/notes': 'mine',
      'sonic2mqtt/sonic/attic/notes/mine': 'too',
      'another/sonic/attic': '{}',
    };
    house.startBridge({ mqtt: { url: `mqtt://127.0.0.1:${way.port}` } });
    await untilShown(house, 0);
    way.cut();
    await house.watcher.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'offline');
    const lies: Record<string, string> = {
      [`sonic2mqtt/sonic/${id}`]: '{"valve":"closed"}',
      [`sonic2mqtt/sonic/${id}/availability`]: 'offline',
      [`homeassistant/device/sonic2mqtt_${id}/config`]:
        foreign['homeassistant/device/sonic2mqtt_another/config'] ?? '',
    };
    for (const [topic, text] of Object.entries({ ...foreign, ...lies }))
      await house.watcher.publish(topic, text, { retain: true });
    way.mend();
    const isTrue = () =>
      Object.entries(lies).every(([topic, text]) => house.watcher.last.get(topic) !== text);
    await waitFor(isTrue, { what: 'the truth', timeoutMs: 40_000 });
    await house.bridge.stop();
    // A new run looks at what is there, and sweeps.
    const from = house.watcher.messages.length;
    house.startBridge();
    await untilShown(house, from);
    const story = await storyOf(house, house.bridge);
    const newcomer = await watchTopics(house.broker.url, ['#']);
    for (const [topic, text] of Object.entries(foreign))
      expect([topic, newcomer.last.get(topic)]).toEqual([topic, text]);
    expect(JSON.parse(newcomer.last.get(`sonic2mqtt/sonic/${id}`) ?? '')).toMatchObject({
      id,
      valve: 'open',
    });
    await story.stop();
  }, 90_000);

  it('that hangs up on whoever asks what it keeps is not asked for ever: all is shown all the same', async () => {
    const house = await startQuietHouse();
    const broker = await startScriptedBroker(house.broker.url);
    broker.play({
      fromClient: (packet, way) => {
        const isAsking =
          packet.cmd === 'subscribe' && packet.subscriptions.some(({ topic }) => topic.includes('/config'));
        if (isAsking) way.hangUp();
        return isAsking;
      },
    });
    house.startBridge({ mqtt: { url: broker.url } });
    await untilShown(house, 0);
    const story = await storyOf(house, house.bridge);
    expect(house.bridge.stderr).toMatch(
      /WARN.*What the broker keeps cannot be read, so nothing stale is deleted/,
    );
    await story.stop();
  }, 90_000);
});
