import type { Random } from '../base/backoff.ts';
import { dayMs } from '../base/duration.ts';
import type { NotificationSettings, Property, PropertySettings, Signal, Sonic } from '../model/records.ts';
import { between, hex, uuid } from './random.ts';

/** Some fields of a record. They come from JSON, or from code that gives them values, so none is really undefined. */
export type SomeFields<T> = { readonly [Field in keyof T]?: T[Field] | undefined };

/** Records by id, in the order of the cloud's lists. */
export class Records<T> extends Map<string, T> {
  readonly #onChange: () => void;

  constructor(onChange: () => void = () => {}) {
    super();
    this.#onChange = onChange;
  }

  override set(id: string, record: T): this {
    super.set(id, record);
    this.#onChange();
    return this;
  }

  override delete(id: string): boolean {
    const wasThere = super.delete(id);
    if (wasThere) this.#onChange();
    return wasThere;
  }

  get ids(): readonly string[] {
    return [...this.keys()];
  }

  /** Changes the given fields of an existing record, by replacing the record. */
  change(id: string, fields: SomeFields<T>): void {
    const record = this.get(id);
    if (record) this.set(id, { ...record, ...fields });
  }
}

const propertyNames = ['Willow Cottage', 'Flat 12', 'Harbour House', 'Flat 3', 'The Old Mill', 'Shop'];
const signalNames = ['Hallway hub', 'Loft hub', 'Garage hub', 'Cellar hub', 'Landing hub'];
const sonicNames = [
  ...['Kitchen', 'Bathroom', 'Garden tap', 'Utility room', 'Boiler'],
  ...['Shower room', 'Washing machine', 'Greenhouse', 'Guest bathroom', 'Garage tap'],
];
const wifiSonicNames = ['Mains', 'Annexe', 'Barn', 'Summer house', 'Stable'];
const timezones = ['Europe/London', 'Europe/Warsaw'];

/** The name at an index. When the list of names ends, it starts again with numbers: `Kitchen`, …, `Kitchen 2`, … */
function nameAt(names: readonly string[], index: number): string {
  const round = Math.floor(index / names.length) + 1;
  const name = names[index % names.length] ?? '';
  return round === 1 ? name : `${name} ${round}`;
}

/** A random ISO time within the last two years. */
function created(random: Random, now: number): string {
  return new Date(now - between(random, 30 * dayMs, 700 * dayMs)).toISOString();
}

/** A property with an address that does not exist, in the North Sea. */
export function newProperty(index: number, random: Random, now: number): Property {
  return {
    id: uuid(random),
    active: true,
    address: `${index + 1} Example Street`,
    city: 'Sampleton',
    country: 'United Kingdom',
    created_at: created(random, now),
    lat: 55 + between(random, 0, 9_999) / 10_000,
    lng: 3 + between(random, 0, 9_999) / 10_000,
    name: nameAt(propertyNames, index),
    postcode: `ZZ99 ${between(random, 1, 9)}ZZ`,
    uprn: '',
  };
}

export function blankProperty(id: string, now: number): Property {
  const created_at = new Date(now).toISOString();
  const place = { lat: null, lng: null, name: '', postcode: '', uprn: '' };
  return { id, active: true, address: '', city: '', country: '', created_at, ...place };
}

/** The settings of a new property. The tests of two properties do not start at the same time. */
export function newSettings(index: number): PropertySettings {
  return {
    auto_shut_off: false,
    pressure_tests_enabled: true,
    pressure_tests_schedule: index % 2 === 0 ? '03:00:00' : '02:30:00',
    timezone: timezones[index % timezones.length] ?? 'UTC',
    webhook_enabled: false,
    webhook_url: '',
  };
}

export function newNotifications(): NotificationSettings {
  const [on, off] = [true, false];
  return {
    ...{ battery_too_low_to_move_handle: on, cloud_disconnection: on, device_handle_moved: on },
    ...{ health_check_failed: on, high_humidity: off, high_humidity_threshold: off },
    ...{ high_temperature: off, high_temperature_threshold: off, high_volume_threshold_litres: 100 },
    ...{ legionella_risk: off, long_flow_notification_delay_mins: 30, low_battery_level: on },
    ...{ low_temperature: on, low_temperature_threshold: off, low_water_temperature: off },
    ...{ pressure_test_failed: on, pressure_test_skipped: off, radio_disconnection: on },
    ...{ water_presence_detected: on },
  };
}

export function newSignal(index: number, random: Random, now: number): Signal {
  const bootTime = Math.floor((now - between(random, 1, 60) * dayMs) / 1_000);
  return {
    id: uuid(random),
    name: nameAt(signalNames, index),
    serial_no: `SG${hex(random, 10).toUpperCase()}`,
    created_at: created(random, now),
    cloud_connection: 'connected',
    boot_time: bootTime,
    // The real cloud shows 0 for a modem that has never booted.
    modem_boot_time: index % 2 === 0 ? bootTime + 41 : 0,
    modem_version: '1.3.2',
    version: '2.14.0',
    wifi_rssi: -between(random, 42, 78),
  };
}

/** A connected sonic with an open valve. Every other sonic has limits for its offline shut-off. */
export function newSonic(index: number, signalId: string | null, random: Random, now: number): Sonic {
  return {
    id: uuid(random),
    name: nameAt(sonicNames, index),
    serial_no: `SN${hex(random, 10).toUpperCase()}`,
    created_at: created(random, now),
    signal_id: signalId,
    battery: index % 4 === 1 ? 'external_power_supply' : index % 4 === 3 ? 'mid' : 'high',
    radio_connection: 'connected',
    radio_rssi: between(random, 120, 200),
    status: 'active',
    valve_state: 'open',
    ...(index % 2 === 0 && {
      auto_shut_off_enabled: true,
      auto_shut_off_time_limit: 1_800,
      auto_shut_off_volume_limit: 150_000,
    }),
  };
}

/** A sonic on Wi-Fi, which needs no signal. */
export interface WifiSonic extends Sonic {
  readonly signal_id: null;
  /** dBm. */
  readonly wifi_rssi: number;
}

export function newWifiSonic(index: number, random: Random, now: number): WifiSonic {
  const sonic = newSonic(index, null, random, now);
  const name = nameAt(wifiSonicNames, index);
  return { ...sonic, name, signal_id: null, wifi_rssi: -between(random, 42, 78) };
}

/** A pressure test that was started, with the other fields of the request. */
export interface PressureTest {
  readonly id: string;
  readonly job_id: string;
  readonly source?: string | undefined;
  /** ISO 8601, UTC. */
  readonly started_at: string;
}

export type SimulatedUser = ReturnType<typeof newUser>;

/** The owner of the account. The telephone number is one that is never assigned. */
export function newUser(email: string, random: Random, now: number) {
  return {
    id: uuid(random),
    email,
    first_name: 'Demo',
    last_name: 'User',
    full_name: 'Demo User',
    phone: '+441632960000',
    roles: ['customer'],
    active: true,
    language: 'en',
    organization_id: null,
    created_at: new Date(now - 500 * 24 * 60 * 60 * 1_000).toISOString(),
  };
}
