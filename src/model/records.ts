// The cloud's records, with the field names of the vendor's interface document. Other fields are kept at run time but
// have no type. A field that is missing or of the wrong type is null.

/** Something that went wrong at a sonic or a signal, or soon will: a leak, a weak battery, a lost connection. */
export interface Incident {
  readonly id: string;
  /** ISO 8601, UTC. */
  readonly detected_at: string | null;
  readonly open: boolean | null;
  readonly possible_actions: readonly string[];
  readonly severity: string | null;
  readonly signal_id: string | null;
  readonly sonic_id: string | null;
  readonly state: string | null;
  readonly type: string | null;
}

/** A place with water, for example a home. */
export interface Property {
  readonly id: string;
  readonly active: boolean | null;
  readonly address: string | null;
  readonly city: string | null;
  readonly country: string | null;
  readonly created_at: string | null;
  readonly lat: number | null;
  readonly lng: number | null;
  readonly name: string | null;
  readonly postcode: string | null;
  readonly uprn: string | null;
}

/** Which alerts the cloud sends about a property, and the limits of two of them. */
export interface NotificationSettings {
  readonly battery_too_low_to_move_handle: boolean | null;
  readonly cloud_disconnection: boolean | null;
  readonly device_handle_moved: boolean | null;
  readonly health_check_failed: boolean | null;
  readonly high_humidity: boolean | null;
  readonly high_humidity_threshold: boolean | null;
  readonly high_temperature: boolean | null;
  readonly high_temperature_threshold: boolean | null;
  readonly high_volume_threshold_litres: number | null;
  readonly legionella_risk: boolean | null;
  readonly long_flow_notification_delay_mins: number | null;
  readonly low_battery_level: boolean | null;
  readonly low_temperature: boolean | null;
  readonly low_temperature_threshold: boolean | null;
  readonly low_water_temperature: boolean | null;
  readonly pressure_test_failed: boolean | null;
  readonly pressure_test_skipped: boolean | null;
  readonly radio_disconnection: boolean | null;
  readonly water_presence_detected: boolean | null;
}

export interface PropertySettings {
  readonly auto_shut_off: boolean | null;
  readonly pressure_tests_enabled: boolean | null;
  /** HH:MM:SS in the property's time zone. */
  readonly pressure_tests_schedule: string | null;
  /** An IANA name. */
  readonly timezone: string | null;
  readonly webhook_enabled: boolean | null;
  readonly webhook_url: string | null;
}

/** A hub: it connects the sonics of a property to the cloud. */
export interface Signal {
  readonly id: string;
  readonly name: string | null;
  readonly serial_no: string | null;
  readonly created_at: string | null;
  readonly cloud_connection: string | null;
  /** Unix seconds; 0 is unknown. */
  readonly boot_time: number | null;
  /** Unix seconds; 0 is unknown. */
  readonly modem_boot_time: number | null;
  readonly modem_version: string | null;
  readonly version: string | null;
  /** dBm. */
  readonly wifi_rssi: number | null;
}

/** A valve. Some have shut-off limits beyond the interface document. */
export interface Sonic {
  readonly id: string;
  readonly name: string | null;
  readonly serial_no: string | null;
  readonly created_at: string | null;
  readonly signal_id: string | null;
  readonly battery: string | null;
  readonly radio_connection: string | null;
  /** The unit is unknown; the values are larger than 0 in practice. */
  readonly radio_rssi: number | null;
  readonly status: string | null;
  readonly valve_state: string | null;
  readonly auto_shut_off_enabled?: boolean | null | undefined;
  /** Seconds; 0 is no limit. */
  readonly auto_shut_off_time_limit?: number | null | undefined;
  /** Millilitres; 0 is no limit. */
  readonly auto_shut_off_volume_limit?: number | null | undefined;
}

/** A measurement of a sonic, in the cloud's units. */
export interface Telemetry {
  /** mbar. */
  readonly pressure: number | null;
  /** ml/min. */
  readonly water_flow: number | null;
  /** °C. */
  readonly water_temp: number | null;
  /** Unix seconds. */
  readonly probed_at: number | null;
}

/** The litres of each day, in the time zone of the property. */
export interface DailyUsage {
  readonly daily: readonly {
    /** YYYY-MM-DD. */
    readonly date: string;
    readonly liters: number;
  }[];
}

/** The pressure tests of a sonic by day, YYYY-MM-DD. */
export interface PressureTests {
  readonly by_day: Readonly<Record<string, readonly { readonly id: string }[]>>;
}

export interface PressureTestJob {
  readonly job_id: string | null;
}

/** The kinds of appliances to which the vendor's app assigns water. */
export interface ApplianceCategories {
  readonly categories: readonly { readonly id: string; readonly name: string | null }[];
}

/** The answer of operation 33. */
export interface HubDetail {
  readonly id: string | null;
  readonly serial_no: string | null;
  readonly status: string | null;
}

/** The user of the account, with the names that operation 26 can change. */
export interface User {
  readonly id: string | null;
  readonly email: string | null;
  readonly first_name: string | null;
  readonly last_name: string | null;
}

export interface Status {
  readonly status: string | null;
}

/** A property in the form that the operations of the vendor's app answer. */
export interface CustomerProperty {
  readonly id: string | null;
  readonly name: string | null;
}

/** The answer of operation 25. */
export interface LeakProtection {
  readonly leak_protection_enabled: boolean | null;
}

/** The answer of operation 28. */
export interface PushNotifications {
  readonly push_enabled: boolean | null;
}

/** The answer of operation 27. */
export interface Invitation {
  readonly invitation_id: string | null;
}

/** The types of incidents, in the order of the interface document. The cloud may send others. */
export const incidentTypes = [
  'high_volume_alert',
  'long_flow_alert',
  'device_handle_moved',
  'battery_too_low_to_move_handle',
  'radio_disconnection',
  'cloud_disconnection',
  'pressure_test_failed',
  'pressure_test_skipped',
  'pressure_test_aborted',
  'health_check_failed',
  'low_battery_level',
  'legionella_risk',
  'legionella_high_risk',
  'low_water_temperature',
  'water_presence_detected',
  'low_temperature',
  'high_temperature',
  'high_humidity',
  'advanced_valve_misalignment',
  'backup_battery_usage',
] as const;
export type IncidentType = (typeof incidentTypes)[number];

/** Values of valve_state that were seen. The cloud may send others. */
export const valveStates = [
  'open',
  'closed',
  'opening',
  'closing',
  'requested_open',
  'requested_closed',
  'pressure_test',
  'faulty',
] as const;

/** Values of radio_connection and cloud_connection that were seen. */
export const connectionStates = ['connected', 'disconnected'] as const;

/** Severities, the lowest first. `medium` was never seen. */
export const severities = ['low', 'medium', 'high'] as const;
