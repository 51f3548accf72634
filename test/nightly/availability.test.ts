import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { DeviceKind } from '../../src/model/devices.ts';
import { placeOf } from '../support/entityTruths.ts';
import { type Entity, type FakeHomeAssistant, startFakeHomeAssistant } from '../support/fakeHomeAssistant.ts';
import { fault, type House, startHouse } from '../support/house.ts';
import { waitFor } from '../support/waitFor.ts';

/** What an entity stands or falls with, besides the bridge. */
type Rests = 'bridge' | 'cloud' | 'device';

/** Of signals and sonics: connectivity and incidents must tell of the very link that is down. */
const restingOnCloud: Readonly<Record<'signal' | 'sonic', RegExp>> = {
  signal:
    /^(binary_sensor_cloud_connection|binary_sensor_incident_cloud_disconnection|event_incident|sensor_open_incidents)$/,
  sonic:
    /^(binary_sensor_radio_connection|binary_sensor_incident_\w+|event_incident|sensor_open_incidents|button_(resolve|snooze)_incidents)$/,
};

function restsOn(kind: DeviceKind, id: string): Rests {
  if (kind === 'bridge') return 'bridge';
  // A property has no link of its own.
  if (kind === 'property') return 'cloud';
  return restingOnCloud[kind].test(id) ? 'cloud' : 'device';
}

/** What is up: the bridge, the cloud, and which devices. */
interface Weather {
  readonly isBridgeUp: boolean;
  readonly isCloudUp: boolean;
  /** Ids of signals and sonics out of reach. */
  readonly lost: readonly string[];
}

const fine: Weather = { isBridgeUp: true, isCloudUp: true, lost: [] };

describe('what Home Assistant can use', () => {
  let house: House;
  let homeAssistant: FakeHomeAssistant;
  let signals: readonly string[];
  let sonics: readonly string[];

  beforeAll(async () => {
    house = await startHouse({
      // A sonic on each page, so that one alone can be missed.
      cloud: { properties: 1, signals: 2, sonics: 4, pageSize: 1 },
      config: { stale_after: '2500ms', cloud: { request_timeout: '500ms' } },
    });
    homeAssistant = await startFakeHomeAssistant(house.broker.url);
    signals = house.simulator.world.signals.ids;
    sonics = house.simulator.world.sonics.ids;
    await waitFor(() => homeAssistant.devices.size === 1 + 1 + 2 + 4, {
      what: 'all devices',
      timeoutMs: 15_000,
    });
  });
  afterAll(async () => {
    await homeAssistant.close();
    await house.close();
  });

  // A story that failed leaves nothing to the next.
  afterEach(() => {
    const { world } = house.simulator;
    house.simulator.setFaults([]);
    for (const id of signals) world.connectCloud(id);
    for (const id of sonics) world.connectRadio(id);
  });

  function shouldBeAvailable({ device, id }: Entity, { isBridgeUp, isCloudUp, lost }: Weather): boolean {
    const place = placeOf(house, device);
    const rests = restsOn(place.kind, id);
    if (!isBridgeUp) return false;
    if (rests === 'bridge') return true;
    if (!isCloudUp) return false;
    return rests === 'cloud' || !lost.includes(place.id);
  }

  /** Entities that are available and should not be, or the other way round, in words. */
  function astray(weather: Weather): string[] {
    return homeAssistant.entities().flatMap((entity) => {
      if (entity.isAvailable === shouldBeAvailable(entity, weather)) return [];
      const { kind, id } = placeOf(house, entity.device);
      return [`${kind} ${id} ${entity.id} is ${entity.isAvailable ? 'available' : 'unavailable'}`];
    });
  }

  async function untilWeather(weather: Weather): Promise<void> {
    await waitFor(() => astray(weather).length === 0, { what: 'it', timeoutMs: 10_000 }).catch(
      () => undefined,
    );
    expect(astray(weather)).toEqual([]);
    expect(homeAssistant.complaints).toEqual([]);
  }

  const states = () =>
    new Map(homeAssistant.entities().map(({ device, id, state }) => [`${device} ${id}`, state]));
  const stateOf = (id: string, entity: string) => homeAssistant.entity(`sonic2mqtt_${id}`, entity).state;
  const shows = (id: string, entity: string, state: string) =>
    homeAssistant.untilShown(`sonic2mqtt_${id}`, entity, state);

  it('is everything in fine weather', async () => {
    await untilWeather(fine);
    // Each kind of device has entities of each kind that it can have; else what follows would show little.
    const kinds = homeAssistant.entities().map(({ device, id }) => {
      const { kind } = placeOf(house, device);
      return `${kind} ${restsOn(kind, id)}`;
    });
    expect([...new Set(kinds)].toSorted()).toEqual([
      'bridge bridge',
      'property cloud',
      'signal cloud',
      'signal device',
      'sonic cloud',
      'sonic device',
    ]);
  });

  it('is not what a signal without its cloud link and the sonics behind it measure or do', async () => {
    const [signal = ''] = signals;
    const { world } = house.simulator;
    const behind = world.sonicIdsOf(signal);
    expect(behind).toHaveLength(2);
    world.dropCloud(signal);
    await untilWeather({ ...fine, lost: [signal, ...behind] });
    await shows(signal, 'binary_sensor_cloud_connection', 'OFF');
    await shows(signal, 'binary_sensor_incident_cloud_disconnection', 'ON');
    // Nobody said that its radio is down, or that its valve has moved.
    for (const id of behind) {
      expect(stateOf(id, 'binary_sensor_radio_connection')).toBe('ON');
      expect(stateOf(id, 'valve_valve')).toBe('open');
      await expect(homeAssistant.use(`sonic2mqtt_${id}`, 'valve_valve', 'close')).rejects.toThrow(
        'unavailable',
      );
    }
    world.connectCloud(signal);
    await untilWeather(fine);
    await shows(signal, 'binary_sensor_cloud_connection', 'ON');
    await shows(signal, 'binary_sensor_incident_cloud_disconnection', 'OFF');
  });

  it('is not what a sonic without its radio link measures or does', async () => {
    const [sonic = ''] = sonics;
    const { world } = house.simulator;
    world.dropRadio(sonic);
    await untilWeather({ ...fine, lost: [sonic] });
    await shows(sonic, 'binary_sensor_radio_connection', 'OFF');
    await shows(sonic, 'binary_sensor_incident_radio_disconnection', 'ON');
    // The buttons for its incidents are of use now more than ever.
    await homeAssistant.use(`sonic2mqtt_${sonic}`, 'button_resolve_incidents');
    await shows(sonic, 'binary_sensor_incident_radio_disconnection', 'OFF');
    world.connectRadio(sonic);
    await untilWeather(fine);
  });

  it('is not what belongs to both, until both are back', async () => {
    const [signal = ''] = signals;
    const { world } = house.simulator;
    const [sonic = '', other = ''] = world.sonicIdsOf(signal);
    world.dropCloud(signal);
    world.dropRadio(sonic);
    await untilWeather({ ...fine, lost: [signal, sonic, other] });
    world.connectCloud(signal);
    await untilWeather({ ...fine, lost: [sonic] });
    world.connectRadio(sonic);
    await untilWeather(fine);
  });

  it('is not a sonic of which the cloud has told nothing for too long', async () => {
    const [, missed = ''] = sonics;
    house.simulator.setFaults([fault('missing-page=2@list_sonics')]);
    await untilWeather({ ...fine, lost: [missed] });
    expect(house.watcher.last.get('sonic2mqtt/bridge/cloud')).toBe('online');
    house.simulator.setFaults([]);
    await untilWeather(fine);
  });

  it('is not a signal of which the cloud has told nothing for too long', async () => {
    const [, missed = ''] = signals;
    house.simulator.setFaults([fault('missing-page=2@list_signals')]);
    await untilWeather({ ...fine, lost: [missed] });
    // It may well be connected: nobody knows.
    const isUnknown = () => stateOf(missed, 'binary_sensor_cloud_connection') === null;
    await waitFor(isUnknown, { what: 'its connection to be unknown' });
    house.simulator.setFaults([]);
    await untilWeather(fine);
    await shows(missed, 'binary_sensor_cloud_connection', 'ON');
  });

  it('is only what is the bridge’s own once the cloud has been away for too long; no value changes', async () => {
    const before = states();
    house.simulator.setFaults([fault('error=503')]);
    await untilWeather({ ...fine, isCloudUp: false });
    await homeAssistant.untilShown('sonic2mqtt_bridge', 'binary_sensor_cloud', 'OFF');
    await homeAssistant.untilShown('sonic2mqtt_bridge', 'sensor_status', 'cloud_unreachable');
    const asked = house.simulator.requests.count('list_signals');
    await waitFor(() => house.simulator.requests.count('list_signals') > asked, {
      what: 'another poll in vain',
      timeoutMs: 10_000,
    });
    const after = states();
    const changed = [...before.keys()].filter((key) => before.get(key) !== after.get(key));
    expect(changed.filter((key) => !key.startsWith('sonic2mqtt_bridge '))).toEqual([]);
    house.simulator.setFaults([]);
    await untilWeather(fine);
    await homeAssistant.untilShown('sonic2mqtt_bridge', 'sensor_status', 'ok');
  });

  it('is nothing at all once the bridge was killed, and all of it when it runs again', async () => {
    await house.bridge.stop('SIGKILL');
    await untilWeather({ ...fine, isBridgeUp: false });
    house.startBridge();
    await untilWeather(fine);
  });

  it('is nothing at all when the bridge was told to stop', async () => {
    await house.bridge.stop('SIGTERM');
    await untilWeather({ ...fine, isBridgeUp: false });
  });
});
