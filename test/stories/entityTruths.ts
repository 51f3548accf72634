import { version } from '../../src/base/version.ts';
import type { DeviceKind } from '../../src/model/devices.ts';
import { applianceCategories } from '../../src/simulator/handlers.ts';
import { localTime } from '../../src/simulator/localTime.ts';
import type { World } from '../../src/simulator/world.ts';
import { isAt, openIncidents, recordTruths, type Shown } from '../oracle/recordTruths.ts';
import type { Entity } from './fakeHomeAssistant.ts';
import type { Home } from './home.ts';

// What an entity shows of a field of a record is in recordTruths, where the oracle judges it too. The rest is here.

/** A device of the home, and the world in which it is. */
export interface Place {
  readonly home: Home;
  readonly world: World;
  /** Empty for the bridge. */
  readonly id: string;
}

/** What the world says that an entity has to show; a function judges what only the bridge itself can know. */
type Truth = (place: Place) => Shown | ((shown: Shown) => boolean);

const tenth = (litres: number) => Math.round(litres * 10) / 10;

/** The litres of each day that the cloud tells of, this month and last, by date. */
function days({ world, id }: Place): Map<string, number> {
  const { date } = today({ world, id });
  const [year, month] = [Number(date.slice(0, 4)), Number(date.slice(5, 7))];
  const last = month === 1 ? { year: year - 1, month: 12 } : { year, month: month - 1 };
  const daily = [last, { year, month }].flatMap((each) => world.usage(id, each).daily);
  return new Map(daily.map(({ date: day, liters }) => [day, liters]));
}
const today = ({ world, id }: Pick<Place, 'world' | 'id'>) =>
  localTime(world.now, world.timezoneOf(world.propertyOf(id)));
const dayBefore = (date: string) =>
  new Date(Date.parse(date) - 24 * 60 * 60 * 1_000).toISOString().slice(0, 10);
const sum = (litres: Iterable<number>) => tenth([...litres].reduce((all, each) => all + each, 0));

const moverWords: Readonly<Record<string, string>> = {
  command: 'Command',
  by_hand: 'By hand',
  automatic_shut_off: 'Automatic shut-off',
  elsewhere: 'In the app, or unknown',
};

/** What each entity has to show, by component id. */
export const truths: Readonly<Record<DeviceKind, Readonly<Record<string, Truth>>>> = {
  bridge: {
    binary_sensor_cloud: () => 'ON',
    binary_sensor_unassigned_incidents: () => 'OFF',
    sensor_status: () => 'OK',
    sensor_last_update:
      ({ world }) =>
      (shown) =>
        Date.parse(String(shown)) <= world.now,
    sensor_requests_last_hour:
      ({ home }) =>
      (shown) =>
        Number(shown) > 0 && Number(shown) <= home.requests.length,
    sensor_version: () => version,
    select_log_level: () => 'info',
    sensor_appliance_categories: () => applianceCategories.length,
  },
  property: {
    ...recordTruths.property,
    number_pause: ({ home, id }) => home.json(`property/${id}/pause`).minutes,
    // The oracle judges it (`PauseJudge`).
    sensor_paused_until: () => (shown) => shown === null || !Number.isNaN(Date.parse(String(shown))),
    // It tells of an alert only while one is open. What else it tells the oracle judges.
    sensor_summary: (place) => (shown) =>
      openIncidents(place, isAt.property(place)).length > 0 ===
      / since |place is not known/.test(String(shown)),
  },
  signal: {
    ...recordTruths.signal,
  },
  sonic: {
    ...recordTruths.sonic,
    // That it is the last one the oracle judges.
    sensor_water_at_rest:
      ({ world }) =>
      (shown) =>
        shown === null || Date.parse(String(shown)) <= world.now,
    sensor_pressure_tests_today: (place) =>
      place.world
        .pressureTestsOf(place.id)
        .filter(({ started_at }) => dateOf(place, started_at) === today(place).date).length,
    sensor_pressure_test_last_day: (place) => {
      const last = place.world.pressureTestsOf(place.id).at(-1);
      return last ? dateOf(place, last.started_at) : null;
    },
    sensor_water_today: (place) => days(place).get(today(place).date) ?? null,
    sensor_water_yesterday: (place) => days(place).get(dayBefore(today(place).date)) ?? null,
    sensor_water_month: (place) => {
      const month = today(place).date.slice(0, 7);
      return sum([...days(place)].filter(([date]) => date.startsWith(month)).map(([, litres]) => litres));
    },
    sensor_water_total: (place) => sum(days(place).values()),
    // Nobody but the bridge keeps these; the oracle judges them by the documents.
    binary_sensor_command_failed:
      ({ home, id }) =>
      (shown) =>
        shown === (home.json(`sonic/${id}/last_command`).failed === null ? 'OFF' : 'ON'),
    sensor_moved_at:
      ({ home, id }) =>
      (shown) =>
        shown === home.json(`sonic/${id}/movement`).at,
    sensor_moved_by:
      ({ home, id }) =>
      (shown) =>
        shown === (moverWords[home.json(`sonic/${id}/movement`).by] ?? null),
    // Nobody but the bridge measures it; unknown before the first command.
    sensor_valve_travel_time:
      ({ home, id }) =>
      (shown) =>
        isMoved(home, id) ? Number(shown) > 0 && Number(shown) < 60 : shown === null,
  },
};

const dateOf = ({ world, id }: Place, at: string) =>
  localTime(Date.parse(at), world.timezoneOf(world.propertyOf(id))).date;

const isMoved = ({ valveCommands }: Home, id: string) =>
  valveCommands.some(({ target, status }) => target.includes(id) && status === 200);

/** The place of a device, by its identifier. */
export function placeOf(home: Home, device: string): Place & { readonly kind: DeviceKind } {
  const { world } = home;
  if (device === 'sonic2mqtt_bridge') return { kind: 'bridge', home, world, id: '' };
  const id = device.slice('sonic2mqtt_'.length);
  const kind = world.properties.has(id) ? 'property' : world.signals.has(id) ? 'signal' : 'sonic';
  return { kind, home, world, id };
}

/** Each entity that is unavailable or shows something else than the world says, in words. */
export function untruths(home: Home, entities: readonly Entity[]): string[] {
  return entities.flatMap(({ device, id, component, state, isAvailable }) => {
    const place = placeOf(home, device);
    const name = `${place.kind} ${place.id} ${id}`;
    if (!isAvailable) return [`${name} is unavailable`];
    if (component['platform'] === 'button') return [];
    const truth = truths[place.kind][id];
    if (!truth) return [`${name} is not among the truths`];
    const wanted = truth(place);
    if (typeof wanted === 'function') return wanted(state) ? [] : [`${name} shows ${state}`];
    return wanted === state ? [] : [`${name} shows ${state}, not ${wanted}`];
  });
}
