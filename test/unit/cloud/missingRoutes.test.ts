import { describe, expect, it } from 'vitest';
import { MissingRoutes } from '../../../src/cloud/missingRoutes.ts';
import type { OperationName } from '../../../src/cloud/operations.ts';

const records = (...ids: string[]) => ids.map((id) => ({ id }));

/** Reads what the account has. */
function readLists(routes: MissingRoutes): void {
  routes.recordList('list_properties', records('p-1'));
  routes.recordList('list_signals', records('h-1'));
  routes.recordList('list_sonics', records('s-1', 's-2'));
  routes.recordList('list_wifi_sonics', records('w-1'));
  routes.recordList('list_incidents', records('i-1'));
  routes.recordWorked('list_incidents');
}

const both = { property_id: 'p-1', incident_id: 'i-1' };

describe('a route', () => {
  it.each<[OperationName, Record<string, string>, number, 'at once' | 'in the end' | 'never', string]>([
    ['read_appliance_categories', {}, 404, 'at once', 'names no record'],
    ['list_wifi_sonics', {}, 405, 'at once', 'names no record'],
    ['read_user', { user_id: 'u-1' }, 404, 'at once', 'names what is in no list'],
    ['read_daily_usage', { thing_id: 'nobody' }, 501, 'at once', 'is not implemented'],
    ['read_wifi_sonic', { sonic_id: 'w-1' }, 404, 'in the end', 'names what is there'],
    ['read_telemetry', { sonic_id: 's-1' }, 404, 'in the end', 'names what is there'],
    ['read_hub', { hub_id: 'h-1' }, 405, 'in the end', 'names what is there'],
    ['act_on_property_incident', both, 404, 'in the end', 'names two that are there'],
    ['start_pressure_test', { thing_id: 'w-1' }, 404, 'in the end', 'names a thing of one kind'],
    ['start_pressure_test', { thing_id: 's-1' }, 404, 'in the end', 'names a thing of the other kind'],
    ['command_wifi_valve', { sonic_id: 'w-1' }, 404, 'never', 'moves a valve'],
    ['command_wifi_valve', { sonic_id: 'w-1' }, 501, 'at once', 'is not implemented'],
    ['read_wifi_sonic', { sonic_id: 'nobody' }, 404, 'never', 'names what is nowhere'],
    ['read_wifi_sonic', { sonic_id: 's-1' }, 404, 'never', 'is not for a sonic with a hub'],
    ['read_telemetry', { sonic_id: 'w-1' }, 404, 'never', 'is not for a Wi-Fi sonic'],
    ['act_on_property_incident', { ...both, incident_id: 'x' }, 404, 'never', 'names one that is nowhere'],
    ['read_sonic', { sonic_id: 's-1' }, 404, 'never', 'is published'],
    ['list_sonics', {}, 501, 'never', 'is published'],
    ['sign_out', {}, 404, 'never', 'is of the session'],
    ['read_hub', { hub_id: 'h-1' }, 403, 'never', 'is not permitted'],
    ['read_hub', { hub_id: 'h-1' }, 500, 'never', 'is in trouble'],
  ])('%s %j after a %i is missing %s: it %s', (name, params, status, when) => {
    const routes = new MissingRoutes();
    readLists(routes);
    expect(routes.recordError(name, params, status)).toBe(when === 'at once');
    expect(routes.has(name)).toBe(when === 'at once');
    readLists(routes);
    expect(routes.recordError(name, params, status)).toBe(when !== 'never');
    expect(routes.has(name)).toBe(when !== 'never');
  });

  it('is not missing for a record that is gone from the list, however often it is asked for', () => {
    const routes = new MissingRoutes();
    readLists(routes);
    expect(routes.recordError('read_hub', { hub_id: 'h-1' }, 404)).toBe(false);
    routes.recordList('list_signals', []);
    for (let times = 0; times < 3; times++)
      expect(routes.recordError('read_hub', { hub_id: 'h-1' }, 404)).toBe(false);
  });

  it('is not missing for one record after another', () => {
    const routes = new MissingRoutes();
    readLists(routes);
    routes.recordError('read_telemetry', { sonic_id: 's-1' }, 404);
    readLists(routes);
    expect(routes.recordError('read_telemetry', { sonic_id: 's-2' }, 404)).toBe(false);
  });

  it('is not missing while no list was read', () => {
    const routes = new MissingRoutes();
    for (let times = 0; times < 2; times++)
      expect(routes.recordError('read_hub', { hub_id: 'h-1' }, 404)).toBe(false);
  });

  it.each<[OperationName, Record<string, string>, boolean]>([
    ['read_hub', { hub_id: 'h-1' }, false],
    ['list_wifi_sonics', {}, false],
    // It is about nothing that could be gone.
    ['read_appliance_categories', {}, true],
  ])('%s %j that has worked is missing after 404: %s', (name, params, isMissing) => {
    const routes = new MissingRoutes();
    routes.recordWorked(name);
    readLists(routes);
    routes.recordError(name, params, 404);
    readLists(routes);
    expect(routes.recordError(name, params, 404)).toBe(isMissing);
    expect(routes.mayBeMissing(name)).toBe(isMissing);
  });
});

describe('a gateway that answers 404 to everything', () => {
  const telemetry = ['read_telemetry', { sonic_id: 's-1' }, 404] as const;

  it.each([404, 405, 501])('takes no route away, whichever is asked for first: %i', (status) => {
    const routes = new MissingRoutes();
    readLists(routes);
    routes.recordError('list_wifi_sonics', {}, status);
    routes.recordError('list_sonics', {}, status);
    expect(routes.has('list_wifi_sonics')).toBe(false);
    expect(routes.recordError('list_wifi_sonics', {}, status)).toBe(false);
    readLists(routes);
    expect(routes.has('list_wifi_sonics')).toBe(false);
    expect(routes.recordError('list_wifi_sonics', {}, status)).toBe(true);
  });

  it('takes no route of a device away, however often it is asked for', () => {
    const routes = new MissingRoutes();
    readLists(routes);
    for (let times = 0; times < 3; times++) expect(routes.recordError(...telemetry)).toBe(false);
  });

  it('takes nothing away that it has left once', () => {
    const routes = new MissingRoutes();
    readLists(routes);
    routes.recordError('read_appliance_categories', {}, 404);
    readLists(routes);
    routes.recordError('list_sonics', {}, 404);
    readLists(routes);
    expect(routes.has('read_appliance_categories')).toBe(true);
  });
});
