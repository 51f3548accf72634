import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { runBuilt } from '../support/callProgram.ts';
import { inPage, type PictureOptions, takePicture } from '../support/pictures.ts';
import { tourWords } from '../support/tourWords.ts';
import { waitFor } from '../support/waitFor.ts';
import { becomes, type Household, startHousehold, stopHousehold } from './household.ts';

// Takes the pictures of the documentation again, one situation of a household after the other: npm run pictures.

interface Shot extends Omit<PictureOptions, 'url' | 'file'> {
  /** The name of the file. */
  readonly name: string;
  /** The path in Home Assistant; null for the status page. */
  readonly path: string | (() => Promise<string>) | null;
  /** Makes the situation. Without it, that of the picture before goes on. */
  readonly prepare?: () => unknown;
}

const folder = process.env['PICTURES'] ?? '';
const [willow, flat] = ['/water-house/water', '/water-house/water-2'];
const phone = { width: 390, isPhone: true } as const;
const tablet = { width: 412 } as const;
/** Home Assistant without its sidebar and the bar on top. */
const desktop = { width: 1_400, without: [256, 56] } as const;
const page = { width: 1_280, height: 800, path: null } as const;

let household: Household;

beforeAll(async () => {
  household = await startHousehold();
  const { home, program } = household;
  const { stdout } = await runBuilt(['dashboard'], { cwd: program.cwd });
  await home.ask('lovelace/dashboards/create', { url_path: 'water-house', title: 'Water', mode: 'storage' });
  await home.ask('lovelace/config/save', { url_path: 'water-house', config: parse(stdout) });
});

afterAll(() => stopHousehold(household));

const world = () => household.cloud.world;
const id = (at: number) => world().sonics.ids[at] ?? '';
const [kitchen, bathroom, garden] = [() => id(0), () => id(1), () => id(2)];
const hub = () => world().sonics.get(kitchen())?.signal_id ?? '';
const entityIs = (entityId: string, state: string) => becomes(household, entityId, state);
const call = (action: string, entity: string, data = {}) =>
  household.home.callService(...(action.split('.') as [string, string]), entity, data);
/** In place of an element to press: an action in the page. */
const act = (script: string) => `({ click() { ${script} } })`;
const alert = (type: string) => world().openIncident({ type, sonicId: kitchen() });
const endAlerts = () => {
  for (const incident of world().incidents.ids) world().closeIncident(incident);
};

async function closeAtLeaks(): Promise<void> {
  const { home } = household;
  const path = 'sonic2mqtt/close_valve_at_leak.yaml';
  const yaml = readFileSync(new URL('../../blueprints/close_valve_at_leak.yaml', import.meta.url), 'utf8');
  await home.ask('blueprint/save', { domain: 'automation', path, yaml });
  await home.ask('call_service', { domain: 'persistent_notification', service: 'dismiss_all' });
  const input = { leak_sensor: ['binary_sensor.kitchen_leak'], valve: ['valve.kitchen'] };
  await home.saveAutomation('leak', { alias: 'Close the valve at a leak', use_blueprint: { path, input } });
}

async function devicePage(): Promise<string> {
  const devices = await household.home.devices();
  return `/config/devices/device/${devices.find(({ name }) => name === 'Kitchen')?.id}`;
}

const shots: readonly Shot[] = [
  {
    ...{ name: 'status-phone', path: null, ...phone, height: 844, texts: tourWords['all-good'] },
    prepare: endAlerts,
  },
  {
    ...{ name: 'status-phone-dark', path: null, ...phone, height: 844, texts: tourWords['all-good'] },
    scheme: 'dark',
  },
  {
    ...{
      name: 'home-assistant-devices',
      path: '/config/integrations/integration/mqtt',
      texts: ['Hallway hub'],
    },
    ...{ width: 1_200, height: 850 },
  },
  {
    ...{ name: 'demo-phone', path: null, ...phone, height: 620, texts: ['Leak at Kitchen', 'Close'] },
    prepare: () => {
      world().runWater(kitchen(), true);
      alert('water_presence_detected');
    },
  },
  {
    ...{ name: 'home-assistant-dashboard', path: willow, ...tablet, height: 900 },
    texts: ['Water running too long at Kitchen', 'Close the water'],
    prepare: () => {
      endAlerts();
      alert('long_flow_alert');
    },
  },
  {
    ...{ name: 'tour-closing', path: willow, ...phone, height: 560, texts: tourWords.closing },
    prepare: async () => {
      endAlerts();
      world().runWater(kitchen(), false);
      // It does not arrive, which is a failure after 90 seconds.
      await call('valve.close_valve', 'valve.bathroom');
      const starts = () => world().sonics.get(bathroom())?.valve_state !== 'open';
      await waitFor(starts, { what: 'the command to reach the cloud' });
      world().valve(bathroom())?.stop();
      world().setValve(kitchen(), 'closing');
    },
  },
  {
    ...{ name: 'tour-offline', path: willow, ...phone, height: 620, texts: tourWords.offline },
    prepare: () => {
      world().setValve(kitchen(), 'open');
      world().dropCloud(hub());
    },
  },
  {
    ...{ name: 'tour-leak', path: willow, ...phone, height: 350, texts: tourWords.leak },
    presses: [
      act(`${inPage('home-assistant-main')}.dispatchEvent(new CustomEvent('hass-show-notifications'))`),
    ],
    prepare: async () => {
      world().connectCloud(hub());
      await entityIs('valve.kitchen', 'open');
      await closeAtLeaks();
      alert('water_presence_detected');
    },
  },
  { ...page, name: 'status-desktop', texts: ['Leak at Kitchen', 'Its valve is closed.'] },
  {
    ...page,
    name: 'status-desktop-dark',
    texts: ['Leak at Kitchen', 'Its valve is closed.'],
    scheme: 'dark',
  },
  {
    ...{ name: 'home-assistant-sonic', path: devicePage, ...desktop, without: [256, 124], height: 904 },
    texts: ['Wet', 'Closed', 'Close the valve at a leak'],
  },
  {
    ...{ name: 'home-assistant-security', path: '/security', ...desktop, height: 536 },
    texts: ['Kitchen Leak', 'Wet', 'Active alerts'],
    prepare: () => {
      const value = { alert_entities: [{ entity: 'binary_sensor.kitchen_alert' }] };
      return household.home.ask('frontend/set_system_data', { key: 'security', value });
    },
  },
  {
    ...{ name: 'home-assistant-maintenance', path: '/maintenance', ...desktop, height: 580 },
    texts: ['Kitchen Alert', 'Low'],
    prepare: () => world().changeSonic(garden(), { battery: 'low' }),
  },
  {
    ...{ name: 'home-assistant-maintenance-phone', path: '/maintenance', ...tablet, height: 900 },
    texts: ['Kitchen Alert', 'Low'],
  },
  {
    ...{ name: 'tour-failed', path: flat, ...phone, height: 760, texts: tourWords.failed },
    prepare: () => entityIs('binary_sensor.bathroom_command_failed', 'on'),
  },
  {
    ...{ name: 'tour-paused', path: flat, ...phone, height: 620, texts: tourWords.paused },
    presses: [
      act(`${inPage('hui-sections-view')}.shadowRoot.querySelectorAll('hui-section')[2].scrollIntoView()`),
    ],
    prepare: async () => {
      await call('button.press', 'button.bathroom_dismiss_failed_command');
      await call('switch.turn_on', 'switch.flat_12_automatic_shut_off');
      await call('number.set_value', 'number.flat_12_pause_automatic_shut_off', { value: 60 });
    },
  },
];

test.each(shots)('$name', async ({ name, path, prepare, ...shot }) => {
  await prepare?.();
  const [, statusPage = ''] = await household.program.waitForOutput(/HTTP: listening on (\S+)/);
  const where = typeof path === 'function' ? await path() : path;
  const url = where === null ? `${statusPage}/` : `${household.home.url}${where}`;
  const shown = await takePicture({ ...shot, url, file: join(folder, `${name}.webp`) });
  expect(shown).not.toMatch(/unknown type|configuration error/i);
});
