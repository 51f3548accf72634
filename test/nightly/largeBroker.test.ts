import { expect, it } from 'vitest';
import { hourly, startHouse } from '../support/house.ts';
import { leaveBehind } from '../support/leftBehind.ts';
import { mosquittoAvailable } from '../support/mosquitto.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { waitFor } from '../support/waitFor.ts';

it.skipIf(!mosquittoAvailable())(
  'thousands of devices that the account does not have go, although a broker as it comes shows a part of them at a time',
  async () => {
    const house = await startHouse({
      isStarted: false,
      cloud: { properties: 1, signals: 1, sonics: 1 },
      broker: { isAsItComes: true },
      config: { schedules: hourly },
    });
    const [sonic = ''] = house.simulator.world.sonics.ids;
    await leaveBehind(house.watcher, 2_000, ['', '/availability'], true);
    const left = (topics: Iterable<string>) => [...topics].filter((topic) => topic.includes('old-')).length;
    expect(left(house.watcher.last.keys())).toBe(4_000);
    house.startBridge();
    await waitFor(() => left(house.watcher.last.keys()) === 0, {
      what: 'all that is stale to go',
      timeoutMs: 30_000,
      intervalMs: 100,
    });
    const newcomer = await watchTopics(house.broker.url, ['sonic2mqtt/#', 'homeassistant/#']);
    expect(left(newcomer.last.keys())).toBe(0);
    await house.watcher.waitForTopic(`homeassistant/device/sonic2mqtt_${sonic}/config`);
    expect(house.bridge.output).not.toContain('cannot be read');
  },
  90_000,
);
