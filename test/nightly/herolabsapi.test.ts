import { afterEach, beforeEach, expect, it } from 'vitest';
import { demoCredentials, Simulator } from '../../src/simulator/simulator.ts';
import { installHerolabsapi, useHerolabsapi } from '../support/herolabsapi.ts';

let simulator: Simulator;

beforeEach(async () => {
  simulator = new Simulator({ quiet: true, sonics: 12, wifiSonics: 3 });
  await simulator.start();
});
afterEach(() => simulator.stop());

it('serves herolabsapi, a client that others wrote for the real cloud', { timeout: 180_000 }, async (ctx) => {
  const directory = await installHerolabsapi().catch((error: unknown) => {
    const reason = `herolabsapi cannot be had here: ${String(error).split('\n', 1)[0]}`;
    console.info(`skipped: ${reason}`);
    return ctx.skip(reason);
  });
  const { email, password } = demoCredentials;
  const seen = await useHerolabsapi(directory, simulator.url, email, password);

  const { sonics, wifiSonics, properties, incidents, user } = simulator.world;
  const firstSonic = sonics.get(sonics.ids[0] ?? '');
  expect(seen).toMatchObject({
    wrong_password: 'refused',
    properties: { total_entries: 2, data: [...properties.values()] },
    signals_total: 3,
    sonics: { total_entries: 12, total_pages: 2, page_number: 1, page_size: 10 },
    open_incidents: [{ id: incidents.ids[0], type: 'long_flow_alert' }],
    property: properties.get(properties.ids[0] ?? ''),
    property_signals: { total_entries: 2 },
    notifications: { high_volume_threshold_litres: 250, low_battery_level: true },
    settings: { auto_shut_off: true, pressure_tests_schedule: '03:00:00' },
    property_incidents: [{ id: incidents.ids[0] }],
    renamed_signal: { name: 'Attic hub' },
    renamed_sonic: { id: firstSonic?.id, name: 'Sink', valve_state: 'open' },
    telemetry: { water_flow: expect.any(Number), pressure: expect.any(Number) },
    wifi_sonics: { total_entries: 3, data: [...wifiSonics.values()] },
    user: { id: user?.id, email, last_name: 'User', language: 'en' },
    changed_user: { ...user, last_name: 'Byron', full_name: 'Demo Byron', language: 'pl' },
    closed_incident: { open: false, state: 'resolved', possible_actions: ['reopen'] },
    reopened_incident: { open: true },
    after_refresh: { id: firstSonic?.id, name: 'Sink' },
    after_sign_out: 12,
  });
  expect(simulator.requests.count('command_valve')).toBe(1);
  expect(firstSonic?.valve_state).not.toBe('open');
});
