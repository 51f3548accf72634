import { expect, it } from 'vitest';
import { hourly, startBridge } from '../support/bridge.ts';
import { publishLeftovers } from '../support/leftovers.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { waitFor } from '../support/waitFor.ts';

it.skipIf(!mosquittoAvailable())(
  'thousands of devices that the account does not have go, although a broker as it comes shows a part of them at a time',
  async () => {
    const bridge = await startBridge({
      isStarted: false,
      cloud: { properties: 1, signals: 1, sonics: 1 },
      broker: { hasDefaultQueue: true },
      config: { schedules: hourly },
    });
    const [sonic = ''] = bridge.cloud.world.sonics.ids;
    await publishLeftovers(bridge.mqtt, 2_000, ['', '/availability'], true);
    const left = (topics: Iterable<string>) => [...topics].filter((topic) => topic.includes('old-')).length;
    expect(left(bridge.mqtt.last.keys())).toBe(4_000);
    bridge.start();
    await waitFor(() => left(bridge.mqtt.last.keys()) === 0, {
      what: 'all that is stale to go',
      intervalMs: 100,
    });
    const newcomer = await watchTopics(bridge.broker.url, ['sonic2mqtt/#', 'homeassistant/#']);
    expect(left(newcomer.last.keys())).toBe(0);
    await bridge.mqtt.waitForTopic(`homeassistant/device/sonic2mqtt_${sonic}/config`);
    expect(bridge.program.output).not.toContain('cannot be read');
  },
  90_000,
);
