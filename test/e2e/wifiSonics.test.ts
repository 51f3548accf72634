import { expect, it } from 'vitest';
import { fault, startBridge } from '../support/bridge.ts';

const bridge = await startBridge({
  cloud: { properties: 2, signals: 1, sonics: 1, wifiSonics: 2, valveTravelMs: 400 },
  isStarted: false,
});
const { cloud, mqtt } = bridge;
const { world } = cloud;
const [barn = '', annexe = ''] = world.wifiSonics.ids;
const [kitchen = ''] = world.sonics.ids;
const [, cottage = ''] = world.properties.ids;
const discovery = (id: string) => mqtt.json(`homeassistant/device/sonic2mqtt_${id}/config`) as Discovery;

interface Discovery {
  readonly device: { readonly via_device: string };
  readonly components: Readonly<Record<string, object>>;
}

it('a sonic on Wi-Fi is shown with all that one on a hub has, below its property', async () => {
  world.wifiSonics.change(annexe, { property_id: cottage } as object);
  bridge.start();
  await bridge.untilShown();
  await bridge.untilJson(`sonic/${barn}/telemetry`, ({ pressure_bar: bar }) => bar > 0);
  await bridge.untilJson(`sonic/${barn}/usage`, ({ total }) => total > 0);
  await bridge.untilJson(`sonic/${annexe}`, ({ property_id: id }) => id === cottage);
  expect(bridge.json(`sonic/${barn}`)).toMatchObject({
    ...world.wifiSonics.get(barn),
    signal_id: null,
    valve: 'open',
  });
  expect(discovery(barn).device.via_device).toBe('sonic2mqtt_bridge');
  expect(discovery(annexe).device.via_device).toBe(`sonic2mqtt_${cottage}`);
  const [ofHub, ofWifi] = [kitchen, barn].map((id) => Object.keys(discovery(id).components).toSorted());
  expect(ofWifi).toEqual(ofHub);
});

it('its valve and its name are changed by its own routes, and never by those of a hub', async () => {
  expect(await bridge.command(`sonic/${barn}/valve/set`, 'CLOSE')).toMatchObject({ status: 'ok' });
  await bridge.untilJson(`sonic/${barn}`, ({ valve }) => valve === 'closed');
  expect(world.wifiSonics.get(barn)?.valve_state).toBe('closed');
  expect(await bridge.command(`sonic/${barn}/name/set`, 'Stable')).toMatchObject({ status: 'ok' });
  await bridge.untilJson(`sonic/${barn}/homeassistant`, ({ name }) => name === 'Stable');
  const counts = (['command_wifi_valve', 'patch_wifi_sonic', 'command_valve', 'read_sonic'] as const).map(
    (name) => bridge.sent(name).length,
  );
  expect(counts).toEqual([1, 1, 0, 0]);
});

it('stays while its list cannot be read, and vanishes once the cloud lists it no more', async () => {
  cloud.setFaults([fault('error=503@list_wifi_sonics')]);
  world.removeSonic(barn);
  await bridge.untilJson('bridge/health', ({ reason }) => String(reason).includes('Wi-Fi sonics'));
  // The other list is read all the same.
  world.setValve(kitchen, 'closed');
  await bridge.untilJson(`sonic/${kitchen}`, ({ valve }) => valve === 'closed');
  expect(mqtt.last.has(`sonic2mqtt/sonic/${barn}`)).toBe(true);
  cloud.setFaults([]);
  await mqtt.waitForMessage(({ topic, text }) => topic === `sonic2mqtt/sonic/${barn}` && text === '', {
    what: 'it to vanish',
  });
  expect(mqtt.last.has(`sonic2mqtt/sonic/${annexe}`)).toBe(true);
});

it('is not looked for again in a cloud that does not offer such a list, which is said once', async () => {
  const lines = () => bridge.program.output.split('\n').filter((line) => /wifi|Wi-Fi/i.test(line));
  cloud.setFaults([fault('error=404@list_wifi_sonics')]);
  await bridge.program.stop();
  bridge.start();
  await bridge.untilJson('bridge/info', ({ operations }) => operations.list_wifi_sonics === 'unavailable');
  const asked = bridge.sent('list_wifi_sonics').length;
  await bridge.polls(4);
  expect(bridge.sent('list_wifi_sonics')).toHaveLength(asked);
  await bridge.untilJson('bridge/health', ({ status }) => status === 'ok');
  expect(lines()).toEqual([expect.stringContaining('The cloud does not offer list_wifi_sonics')]);
});
