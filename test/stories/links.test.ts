import { describe, expect, it } from 'vitest';
import { Home, minuteMs, secondMs, startedHome } from './home.ts';

/** A home that reads its hubs each minute too, and the availability of its sonic and its hub. */
async function startHome() {
  const home = await startedHome({ config: { schedules: { signals: '60s' } } });
  const { sonicId, signalId } = home;
  return {
    home,
    availability: () => [
      home.text(`sonic/${sonicId}/availability`),
      home.text(`signal/${signalId}/availability`),
    ],
    radio: (radio_connection: string | null) => home.world.changeSonic(sonicId, { radio_connection }),
    cloud: (cloud_connection: string | null) => home.world.signals.change(signalId, { cloud_connection }),
    offline: () =>
      home.messages.filter(({ topic, payload }) => /availability$/.test(topic) && payload === 'offline'),
  };
}

describe('a link that is lost', () => {
  it('for a single reading makes nothing unavailable; its own entity shows each', async () => {
    const { home, availability, radio, cloud, offline } = await startHome();
    for (let flap = 0; flap < 3; flap++) {
      const isOff = (id: string, key: string) => home.entity(id, `binary_sensor_${key}`).state === 'OFF';
      radio('disconnected');
      await home.until(() => isOff(home.sonicId, 'radio_connection'), 'the lost radio link');
      radio('connected');
      cloud('disconnected');
      await home.until(() => isOff(home.signalId, 'cloud_connection'), 'the lost cloud link');
      cloud('connected');
      await home.pass(160 * secondMs);
      expect(home.entity(home.sonicId, 'binary_sensor_radio_connection').state).toBe('ON');
    }
    expect(availability()).toEqual(['online', 'online']);
    expect(offline()).toEqual([]);
  });

  it.each(['radio', 'cloud'] as const)('(%s) by two in a row is down, and by one is back', async (which) => {
    const { home, availability, ...change } = await startHome();
    change[which]('disconnected');
    await home.pass(20 * secondMs);
    expect(availability()).toEqual(['online', 'online']);
    await home.pass(minuteMs);
    expect(availability()).toEqual(['offline', which === 'cloud' ? 'offline' : 'online']);
    change[which]('connected');
    await home.pass(minuteMs);
    expect(availability()).toEqual(['online', 'online']);
  });

  it('(cloud) is in doubt at the first reading, and read again within half a minute', async () => {
    const home = new Home();
    for (const id of home.world.incidents.ids) home.world.closeIncident(id);
    await home.start();
    const { sonicId, signalId, propertyId } = home;
    const summary = () => String(home.entity(propertyId, 'sensor_summary').state);
    const hub = () => home.entity(signalId, 'sensor_open_incidents').state;
    expect([summary(), hub()]).toEqual([expect.stringMatching(/^All good/), 0]);
    home.world.signals.change(signalId, { cloud_connection: 'disconnected' });
    await home.until(() => summary() === 'Kitchen does not answer. Checking again.', summary);
    expect(home.text(`sonic/${sonicId}/availability`)).toBe('online');
    await home.pass(31 * secondMs);
    expect(home.text(`sonic/${sonicId}/availability`)).toBe('offline');
    // A hub that is offline cannot report an alert.
    expect(hub()).toBeNull();
    expect(home.json(`signal/${signalId}/incidents`)).toMatchObject({ open_count: null });
  });

  it('(cloud) is known to be back as soon as an incident opens', async () => {
    const home = await startedHome();
    const { sonicId, signalId } = home;
    const availability = () => home.text(`sonic/${sonicId}/availability`);
    home.world.signals.change(signalId, { cloud_connection: 'disconnected' });
    await home.pass(11 * minuteMs);
    expect(availability()).toBe('offline');
    home.world.signals.change(signalId, { cloud_connection: 'connected' });
    home.world.openIncident({ type: 'water_presence_detected', sonicId });
    await home.pass(40 * secondMs);
    expect(availability()).toBe('online');
  });

  it('(radio) before the bridge starts is down, because a valve is read again only by its schedule', async () => {
    const home = new Home();
    const { world, sonicId } = home;
    for (const id of world.incidents.ids) world.closeIncident(id);
    const radio = (radio_connection: string) => world.changeSonic(sonicId, { radio_connection });
    radio('disconnected');
    await home.start();
    const availability = () => home.text(`sonic/${sonicId}/availability`);
    const alert = () => home.entity(sonicId, 'binary_sensor_alert').state;
    expect([availability(), alert()]).toEqual(['offline', null]);
    radio('connected');
    await home.pass(minuteMs);
    expect([availability(), alert()]).toEqual(['online', 'OFF']);
  });

  it('(cloud) before the bridge starts is read a second time half a minute later', async () => {
    const home = new Home();
    const { world, sonicId, signalId } = home;
    world.signals.change(signalId, { cloud_connection: 'disconnected' });
    await home.start();
    await home.pass(5 * secondMs);
    const shown = home.messages.filter(({ topic }) => topic.endsWith(`sonic/${sonicId}/availability`));
    expect(shown.map(({ payload }) => payload)).toEqual(['online', 'offline']);
    expect(home.asked('list_signals')).toHaveLength(1);
  });

  it('(cloud) is read with the valves while it is down', async () => {
    const home = await startedHome();
    const { world, sonicId, signalId } = home;
    world.signals.change(signalId, { cloud_connection: 'disconnected' });
    await home.pass(11 * minuteMs);
    expect(home.text(`sonic/${sonicId}/availability`)).toBe('offline');
    const lines = () =>
      home.lines.map(({ text }) => text).filter((text) => /^info: (Hub|Valve) "/.test(text));
    expect(lines()).toEqual([
      'info: Hub "Hallway hub": offline: it has no connection to the cloud',
      'info: Valve "Kitchen": offline: its hub is offline',
    ]);
    world.signals.change(signalId, { cloud_connection: 'connected' });
    await home.pass(minuteMs + secondMs);
    expect(lines().slice(2)).toEqual([
      'info: Hub "Hallway hub": online again',
      'info: Valve "Kitchen": online again',
    ]);
    expect(home.text(`sonic/${sonicId}/availability`)).toBe('online');
    const reads = () => home.asked('read_signal').length;
    const before = reads();
    await home.pass(10 * minuteMs);
    expect(reads()).toBe(before);
  });
});

describe('a word of the cloud', () => {
  it.each(['offline', 'lost', '', null])(
    'for a link that is not known (%j) is neither "no" nor "yes", and health names it once',
    async (word) => {
      const { home, availability, radio, cloud, offline } = await startHome();
      const { sonicId, signalId, propertyId } = home;
      for (const id of home.world.incidents.ids) home.world.closeIncident(id);
      await home.pass(minuteMs);
      const summary = () => String(home.entity(propertyId, 'sensor_summary').state);
      const leak = () => home.entity(sonicId, 'binary_sensor_incident_water_presence_detected').state;
      expect([summary(), leak()]).toEqual([expect.stringMatching(/^All good/), 'OFF']);
      radio(word);
      await home.pass(2 * minuteMs);
      expect([summary(), leak()]).toEqual([
        expect.stringMatching(/position of the valve is not known/),
        null,
      ]);
      cloud(word);
      await home.pass(10 * minuteMs);
      expect(home.entity(sonicId, 'binary_sensor_radio_connection').state).toBeNull();
      expect(home.entity(signalId, 'binary_sensor_cloud_connection').state).toBeNull();
      expect(home.entity(signalId, 'sensor_open_incidents').state).toBeNull();
      expect(home.json(`property/${propertyId}/incidents`)).toMatchObject({ open_count: null });
      expect(availability()).toEqual(['online', 'online']);
      expect(offline()).toEqual([]);
      const quoted = JSON.stringify(word);
      const named = `hub "Hallway hub" (${quoted}), valve "Kitchen" (${quoted})`;
      const { status, reason } = home.json('bridge/health') as { status: string; reason: string };
      expect([status, reason.split(named).length]).toEqual(['degraded', 2]);
      expect(home.lines.filter(({ text }) => text.includes(named))).toHaveLength(1);
      radio('disconnected');
      await home.pass(minuteMs);
      expect(availability()[0]).toBe('online');
      await home.pass(minuteMs);
      expect(availability()[0]).toBe('offline');
    },
  );

  it('for a hub that a valve does not name makes its link unknown', async () => {
    const { home, availability } = await startHome();
    for (const id of home.world.incidents.ids) home.world.closeIncident(id);
    home.world.changeSonic(home.sonicId, { signal_id: null } as never);
    await home.pass(10 * minuteMs);
    expect(availability()[0]).toBe('online');
    expect(home.entity(home.sonicId, 'binary_sensor_alert').state).toBeNull();
    expect(home.json('bridge/health')).toMatchObject({
      status: 'degraded',
      reason: expect.stringMatching(/valve "Kitchen" \(it names no hub\)/),
    });
  });

  it('means the same in capitals', async () => {
    const { home, availability, radio, cloud } = await startHome();
    home.world.changeSonic(home.sonicId, { valve_state: 'OPEN', battery: 'Low' });
    radio('Connected');
    cloud('CONNECTED');
    await home.pass(10 * minuteMs);
    expect(availability()).toEqual(['online', 'online']);
    const shown = [
      'binary_sensor_radio_connection',
      'valve_valve',
      'sensor_valve_state',
      'binary_sensor_battery_low',
    ];
    expect(shown.map((key) => home.entity(home.sonicId, key).state)).toEqual(['ON', 'open', 'open', 'ON']);
    expect(home.lines.filter(({ text }) => text.includes('unknown value'))).toEqual([]);
  });
});

describe('a link of which the cloud says nothing', () => {
  it('as its hub is in no list, is taken for down', async () => {
    const { home, availability } = await startHome();
    home.world.changeSonic(home.sonicId, { signal_id: '00000000-0000-4000-8000-000000000000' } as never);
    await home.pass(minuteMs);
    expect(availability()[0]).toBe('offline');
    expect(home.json('bridge/health')).toMatchObject({
      status: 'degraded',
      reason: 'The last list of hubs does not have the hub of valve "Kitchen". The valve is shown as offline',
    });
  });

  it('as it has none, is no reason for a Wi-Fi sonic to be offline', async () => {
    const home = new Home({ cloud: { sonics: 0, wifiSonics: 1 } });
    home.world.changeSonic(home.sonicId, { radio_connection: null });
    await home.start();
    expect(home.text(`sonic/${home.sonicId}/availability`)).toBe('online');
  });
});
