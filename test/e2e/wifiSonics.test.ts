import { describe, expect, it } from 'vitest';
import { fault, type House, quick, startHouse } from '../support/house.ts';
import { waitFor } from '../support/waitFor.ts';

/** A house with a sonic on a hub and Wi-Fi sonics, once all are shown. */
async function houseWithWifi(options: { readonly schedules?: object } = {}) {
  const house = await startHouse({
    cloud: { properties: 2, signals: 1, sonics: 1, wifiSonics: 2 },
    config: { schedules: { ...quick, usage: '300ms', pressure_tests: '300ms', ...options.schedules } },
    isStarted: false,
  });
  const { world } = house.simulator;
  const [barn = '', annexe = ''] = world.wifiSonics.ids;
  const [kitchen = ''] = world.sonics.ids;
  const [home = '', cottage = ''] = world.properties.ids;
  return { house, world, barn, annexe, kitchen, home, cottage };
}

const isShown = (house: House, id: string) => house.watcher.last.get(`sonic2mqtt/sonic/${id}`);

const appears = (house: House, id: string) =>
  house.watcher.waitForTopic(`sonic2mqtt/sonic/${id}/incidents`, () => true, 10_000);

function discovery(house: House, id: string) {
  return house.watcher.json(`homeassistant/device/sonic2mqtt_${id}/config`) as {
    readonly device: { readonly via_device: string };
    readonly components: Readonly<Record<string, object>>;
  };
}

const outcomesOf = (house: House, topic: string) =>
  house.events('command').filter((event) => event['topic'] === topic);

describe('Wi-Fi sonics', () => {
  it('appear with all that a sonic has, its name to be changed too, without a signal', async () => {
    const { house, world, barn, annexe, kitchen, cottage } = await houseWithWifi();
    world.wifiSonics.change(annexe, { property_id: cottage } as object);
    house.startBridge();
    for (const id of [barn, annexe, kitchen]) await appears(house, id);
    await waitFor(() => house.json(`sonic/${barn}/telemetry`)?.pressure_bar > 0, { what: 'its telemetry' });
    await waitFor(() => house.json(`sonic/${barn}/usage`)?.total > 0, { what: 'its usage' });
    await waitFor(() => house.json(`sonic/${barn}/pressure_tests`), { what: 'its pressure tests' });

    expect(house.json(`sonic/${barn}`)).toMatchObject({
      ...world.wifiSonics.get(barn),
      signal_id: null,
      property_id: null,
      valve: 'open',
    });
    expect(house.json(`sonic/${annexe}`).property_id).toBe(cottage);
    expect(house.watcher.last.get(`sonic2mqtt/sonic/${barn}/availability`)).toBe('online');
    expect(discovery(house, barn).device.via_device).toBe('sonic2mqtt_bridge');
    expect(discovery(house, annexe).device.via_device).toBe(`sonic2mqtt_${cottage}`);

    const ofHub = Object.keys(discovery(house, kitchen).components);
    const ofWifi = Object.keys(discovery(house, barn).components);
    expect(ofWifi.toSorted()).toEqual(ofHub.toSorted());

    const rename = `sonic2mqtt/sonic/${barn}/name/set`;
    await house.watcher.publish(rename, 'Stable');
    await waitFor(() => outcomesOf(house, rename).length === 1, { what: 'the outcome' });
    expect(outcomesOf(house, rename)[0]).toMatchObject({ status: 'ok', http_status: 200 });
    expect(world.wifiSonics.get(barn)?.name).toBe('Stable');
    await waitFor(() => house.json(`sonic/${barn}/homeassistant`).name === 'Stable', { what: 'the name' });
    expect(house.simulator.requests.count('patch_wifi_sonic')).toBe(1);
    expect(house.simulator.requests.count('read_wifi_telemetry')).toBeGreaterThan(0);
    await waitFor(() => house.json('bridge/health')?.status === 'ok', { what: 'all to be well' });
  });

  it('are closed by their own route and confirmed by it, and the hub route is never asked', async () => {
    const { house, world, barn } = await houseWithWifi({ schedules: { sonics: '1h' } });
    house.startBridge();
    await appears(house, barn);
    const set = `sonic2mqtt/sonic/${barn}/valve/set`;
    await house.watcher.publish(set, 'CLOSE');
    await waitFor(() => house.json(`sonic/${barn}`).valve === 'closing', { what: 'the movement' });
    await waitFor(() => house.json(`sonic/${barn}`).valve === 'closed', { what: 'the end of it' });
    expect(world.wifiSonics.get(barn)?.valve_state).toBe('closed');
    expect(outcomesOf(house, set)).toMatchObject([{ status: 'ok' }]);
    const { requests } = house.simulator;
    expect(requests.count('command_wifi_valve')).toBe(1);
    expect(requests.count('read_wifi_sonic')).toBeGreaterThan(0);

    // As a thing it is the same sonic, and read in the same way.
    const request = 'sonic2mqtt/bridge/request/change_thing_state';
    await house.watcher.publish(
      request,
      JSON.stringify({ params: { thing_id: barn }, body: { action: 'open' } }),
    );
    await waitFor(() => house.json(`sonic/${barn}`).valve === 'open', { what: 'the valve to open' });
    expect(requests.count('change_thing_state')).toBe(1);
    for (const name of ['command_valve', 'read_sonic'] as const) expect(requests.count(name)).toBe(0);
  });

  it('are told apart from the property to which a selection is confined', async () => {
    const { house, world, barn, annexe, kitchen, home, cottage } = await houseWithWifi();
    world.wifiSonics.change(barn, { property_id: home } as object);
    world.wifiSonics.change(annexe, { property_id: cottage } as object);
    const stray = world.addWifiSonic(home).id;
    house.startBridge({ filters: { properties: [home] } });
    for (const id of [kitchen, barn]) await appears(house, id);
    const polled = house.simulator.requests.count('list_wifi_sonics');
    await waitFor(() => house.simulator.requests.count('list_wifi_sonics') > polled + 2, {
      what: 'some polls',
    });
    for (const id of [annexe, stray]) expect(isShown(house, id)).toBeUndefined();
  });

  /** One of them in the property to which the bridge is confined, with an incident that is announced; the bridge is stopped. */
  async function announcedBefore() {
    const { house, world, barn, home } = await houseWithWifi({ schedules: { incidents: '1h' } });
    const moveTo = (property_id: string | null) => world.wifiSonics.change(barn, { property_id } as object);
    const leaks = () =>
      house.watcher.messages
        .filter(({ topic }) => topic === `sonic2mqtt/sonic/${barn}/incident`)
        .map(({ text }) => JSON.parse(text).id);
    const openLeak = () => {
      const { id } = world.openIncident({ type: 'high_volume_alert', sonicId: barn });
      world.incidents.change(id, { signal_id: null });
      return id;
    };
    /** Opens another, and waits until it is announced. */
    const nextLeak = async () => {
      const id = openLeak();
      await house.watcher.publish('sonic2mqtt/bridge/refresh', 'now');
      await waitFor(() => leaks().includes(id), { what: 'the next announcement', timeoutMs: 10_000 });
      return id;
    };
    const start = () => house.startBridge({ filters: { properties: [home] } });
    for (const id of world.incidents.ids) world.closeIncident(id);
    moveTo(home);
    const leak = openLeak();
    start();
    await waitFor(() => leaks().length === 1, { what: 'the announcement', timeoutMs: 15_000 });
    await house.bridge.stop();
    return { house, barn, home, moveTo, leak, leaks, nextLeak, start };
  }

  it('in a selected property keep their open incident over a restart, although it is read before them', async () => {
    const { house, barn, leak, leaks, nextLeak, start } = await announcedBefore();
    const gone = 'sonic2mqtt/sonic/gone';
    await house.watcher.publish(gone, '{}', { retain: true });
    house.simulator.setFaults(
      ['list_sonics', 'list_wifi_sonics'].map((name) => fault(`latency=500@${name}`)),
    );
    const from = house.watcher.messages.length;
    start();
    await waitFor(() => !house.watcher.last.get(gone), { what: 'the first sweep', timeoutMs: 15_000 });
    const next = await nextLeak();
    expect(leaks()).toEqual([leak, next]);
    const since = house.watcher.messages.slice(from);
    expect(since.filter(({ text }) => text === '').map(({ topic }) => topic)).toEqual([gone]);
    const counts = since
      .filter(({ topic }) => topic === `sonic2mqtt/sonic/${barn}/incidents`)
      .map(({ text }) => JSON.parse(text).open_count);
    expect(counts).not.toContain(0);
  });

  it('whose property was not known for a while have no incident announced again', async () => {
    const { house, barn, home, moveTo, leak, leaks, nextLeak, start } = await announcedBefore();
    moveTo(null);
    start();
    await waitFor(() => !isShown(house, barn), { what: 'them to be swept', timeoutMs: 15_000 });
    moveTo(home);
    await appears(house, barn);
    expect(leaks()).toEqual([leak]);
    const next = await nextLeak();
    expect(leaks()).toEqual([leak, next]);
  });

  it('vanish when the cloud lists them no more, and only then', async () => {
    const { house, world, barn, annexe, kitchen } = await houseWithWifi();
    house.startBridge();
    for (const id of [barn, annexe, kitchen]) await appears(house, id);
    house.simulator.setFaults([fault('error=503@list_wifi_sonics')]);
    await waitFor(() => String(house.json('bridge/health')?.reason).includes('Wi-Fi sonics'), {
      what: 'the complaint',
      timeoutMs: 10_000,
    });
    expect(house.json('bridge/health').status).toBe('degraded');
    // A list that fails removes nothing, and does not hold up the other.
    world.setValve(kitchen, 'closed');
    await waitFor(() => house.json(`sonic/${kitchen}`).valve === 'closed', { what: 'the other list' });
    expect(isShown(house, barn)).toBeDefined();
    world.removeSonic(barn);
    house.simulator.setFaults([]);
    await waitFor(() => !isShown(house, barn), { what: 'it to vanish', timeoutMs: 10_000 });
    expect(house.watcher.last.get(`homeassistant/device/sonic2mqtt_${barn}/config`)).toBeUndefined();
    expect(house.events('device_removed')).toMatchObject([{ kind: 'sonic', id: barn }]);
    for (const id of [annexe, kitchen]) expect(isShown(house, id)).toBeDefined();
  });

  it('that a cloud does not offer are none, with a line in the log and no complaint', async () => {
    const { house, barn, kitchen } = await houseWithWifi();
    house.simulator.setFaults([fault('error=404@list_wifi_sonics')]);
    house.startBridge();
    await appears(house, kitchen);
    const polled = house.simulator.requests.count('list_sonics');
    await waitFor(() => house.simulator.requests.count('list_sonics') > polled + 3, { what: 'some polls' });
    expect(house.simulator.requests.count('list_wifi_sonics')).toBe(1);
    await waitFor(() => house.json('bridge/health')?.status === 'ok', { what: 'all to be well' });
    expect(isShown(house, barn)).toBeUndefined();
    const lines = house.bridge.output.split('\n').filter((line) => /wifi|Wi-Fi/i.test(line));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('The cloud does not offer list_wifi_sonics');
    expect(house.json('bridge/info').operations.list_wifi_sonics).toBe('unavailable');
  });

  it('lose their valve where the cloud has no such route, but not for a slip of the keyboard', async () => {
    const { house, barn, annexe, kitchen } = await houseWithWifi();
    house.startBridge();
    for (const id of [barn, annexe, kitchen]) await appears(house, id);
    const request = 'sonic2mqtt/bridge/request/command_wifi_valve';
    await house.watcher.publish(
      request,
      JSON.stringify({ params: { sonic_id: 'nobody' }, body: { action: 'close' } }),
    );
    await waitFor(() => outcomesOf(house, request).length === 1, { what: 'the answer' });
    expect(outcomesOf(house, request)[0]).toMatchObject({ status: 'error', http_status: 404 });
    expect(house.json('bridge/info').operations.command_wifi_valve).toBe('available');

    house.simulator.setFaults([fault('error=404@command_wifi_valve')]);
    const set = `sonic2mqtt/sonic/${barn}/valve/set`;
    await house.watcher.publish(set, 'CLOSE');
    await waitFor(() => outcomesOf(house, set).length === 1, { what: 'the outcome' });
    expect(outcomesOf(house, set)[0]).toMatchObject({ status: 'error', http_status: 404 });
    const hasValve = (id: string) => 'device_class' in (discovery(house, id).components['valve_valve'] ?? {});
    await waitFor(() => !hasValve(barn) && !hasValve(annexe), { what: 'the valves to be withdrawn' });
    expect(hasValve(kitchen)).toBe(true);
    expect(house.json(`sonic/${barn}`).valve).toBe('open');
  });

  it('can be closed whatever was asked of another that has no such route, or is no more', async () => {
    const { house, world, barn, annexe, kitchen } = await houseWithWifi({ schedules: { sonics: '1h' } });
    house.startBridge();
    for (const id of [barn, annexe, kitchen]) await appears(house, id);
    const request = 'sonic2mqtt/bridge/request/command_wifi_valve';
    const ofHub = JSON.stringify({ params: { sonic_id: kitchen }, body: { action: 'close' } });
    await house.watcher.publish(request, ofHub);
    await waitFor(() => outcomesOf(house, request).length === 1, { what: 'the answer' });
    world.removeSonic(annexe);
    const lists = house.simulator.requests.count('list_wifi_sonics');
    const setGone = `sonic2mqtt/sonic/${annexe}/valve/set`;
    await house.watcher.publish(setGone, 'CLOSE');
    await waitFor(() => outcomesOf(house, setGone).length === 1, { what: 'the outcome' });
    expect(outcomesOf(house, setGone)[0]).toMatchObject({ status: 'error', http_status: 404 });
    await waitFor(() => house.simulator.requests.count('list_wifi_sonics') > lists, {
      what: 'the look at the list',
    });
    const set = `sonic2mqtt/sonic/${barn}/valve/set`;
    await house.watcher.publish(set, 'CLOSE');
    await waitFor(() => world.wifiSonics.get(barn)?.valve_state === 'closed', { what: 'the closed valve' });
    expect(outcomesOf(house, set)).toMatchObject([{ status: 'ok' }]);
    expect(house.json('bridge/info').operations.command_wifi_valve).toBe('available');
  });
});
