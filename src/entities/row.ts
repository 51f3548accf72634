import type { BodyField, Call, OperationName } from '../cloud/operations.ts';
import type { BridgeFacts } from '../model/devices.ts';
import type { Incident } from '../model/records.ts';
import type { Valve } from '../model/valve.ts';
import type { EntityName, Sentence } from '../texts/texts.ts';

/*
 * An entity of Home Assistant is one row in a table: `sonic.ts`, `signal.ts`, `property.ts` or `bridge.ts`. A row is data and
 * pure functions of a view of its device (`model/devices.ts`); a command is data too. The room `homeassistant` makes the
 * discovery message, the states and the topics from the rows, and reads the commands by them. The types below allow only what
 * Home Assistant accepts.
 */

/**
 * What an entity needs to be available. `device`: the bridge, fresh cloud data, and the link of its device. `cloud`:
 * the bridge and fresh cloud data. `bridge`: only the bridge. An entity that reports a lost link or an incident must
 * not need that link.
 */
export type AvailabilitySource = 'device' | 'cloud' | 'bridge';

/** An action of the bridge itself. */
export type BridgeAction =
  | { readonly kind: 'refresh' }
  | { readonly kind: 'set_log_level'; readonly level: string }
  /** With 0 minutes, `pause` ends a pause of the automatic shut-off. */
  | { readonly kind: 'pause' | 'set_pause_minutes'; readonly propertyId: string; readonly minutes: number };

/** What a command does: calls of the cloud, or an action of the bridge. */
export type CommandAction = Call | readonly Call[] | BridgeAction;

/** The reason for refusing a command, for its sender. */
export interface Refusal {
  readonly refusal: string;
}

interface Common<View> {
  /** Part of the unique id and the component id. It must never change. */
  readonly key: string;
  /** In sentence case, without the device's name, with its translations in `src/texts`; null for the device's main entity. */
  readonly name: EntityName | null;
  readonly needs: AvailabilitySource;
  readonly category?: 'config' | 'diagnostic';
  readonly icon?: `mdi:${string}`;
  readonly isDisabledByDefault?: true;
  /** Whether this device has the entity. If it is not given, every device has. */
  readonly exists?: (view: View) => boolean;
}

/** A value that is the same for all devices, or depends on the device. */
export type PerDevice<View, Name> = Name | ((view: View) => Name);

/** A command: its topic below the device's, and what it does. */
export interface Command<View, Input> {
  readonly path: string;
  /**
   * The operation that it needs. If `control` forbids the operation or the cloud does not offer it, there is no entity.
   */
  readonly operation: PerDevice<View, OperationName | null>;
  readonly action: (view: View, input: Input) => CommandAction | Refusal;
}

/** A command that sets one field. The body of the operation defines the allowed values. */
export interface FieldCommand<View = unknown, Field extends string = BodyField<FieldOperation>> {
  readonly path: string;
  readonly operation: PerDevice<View, FieldOperation>;
  /** A field of the operation's body. */
  readonly field: Field;
}

/** The operations that change single fields of a device. Their only path parameter is the device's id. */
export type FieldOperation =
  | 'patch_property'
  | 'patch_signal'
  | 'patch_sonic'
  | 'patch_wifi_sonic'
  | 'update_customer_notifications'
  | 'update_notification_settings'
  | 'update_property_configuration'
  | 'update_property_settings';

/** A retained document below the device's topic, and the Jinja expression that picks an object from it. */
export interface Attributes {
  readonly path: string;
  readonly expression: string;
}

// Units and state classes that Home Assistant accepts for a device class, a part of its list at
// https://developers.home-assistant.io/docs/core/entity/sensor/#available-device-classes
type Measured =
  | { readonly deviceClass: 'volume_flow_rate'; readonly unit: 'L/min'; readonly stateClass: 'measurement' }
  | { readonly deviceClass: 'pressure'; readonly unit: 'bar'; readonly stateClass: 'measurement' }
  | { readonly deviceClass: 'temperature'; readonly unit: '°C'; readonly stateClass: 'measurement' }
  | { readonly deviceClass: 'signal_strength'; readonly unit: 'dBm'; readonly stateClass: 'measurement' }
  | { readonly deviceClass: 'duration'; readonly unit: 's' | 'min'; readonly stateClass?: 'measurement' }
  | { readonly deviceClass: 'volume' | 'water'; readonly unit: 'L'; readonly stateClass?: never }
  | { readonly stateClass: 'measurement' };
/** Counted water: since the last reset, or in total. At most one row of a table has resets. */
type Counted<View> = {
  readonly deviceClass: 'water';
  readonly unit: 'L';
  readonly stateClass: 'total';
  /** ISO 8601 with offset; null if it is not known. */
  readonly lastReset?: (view: View) => string | null;
};
type NumberSensor<View> = (Measured | Counted<View>) & {
  readonly value: (view: View) => number | null;
  readonly precision?: number;
};
type EnumSensor<View> = {
  readonly deviceClass: 'enum';
  readonly options: readonly string[];
  readonly value: (view: View) => string | null;
};
/** A time is ISO 8601 in UTC, as from `isoFromUnixSeconds` in model/calendar.ts. A date is YYYY-MM-DD. */
type TimeSensor<View> = {
  readonly deviceClass: 'timestamp' | 'date';
  readonly value: (view: View) => string | null;
};
type TextSensor<View> = { readonly value: (view: View) => string | null };
/** Sentences of the headline in the chosen language, as many as fit into a state. */
type SentenceSensor<View> = {
  readonly sentences: (view: View, bridge: BridgeFacts) => readonly Sentence[];
};

/** A sensor: a number with its unit, one of several words, a time, a text, or sentences. */
export type SensorRow<View> = Common<View> & {
  readonly component: 'sensor';
  readonly category?: 'diagnostic';
  readonly attributes?: Attributes;
} & (NumberSensor<View> | EnumSensor<View> | TimeSensor<View> | TextSensor<View> | SentenceSensor<View>);

/** A binary sensor: on, off, or unknown (null). */
export type BinarySensorRow<View> = Common<View> & {
  readonly component: 'binary_sensor';
  readonly category?: 'diagnostic';
  readonly deviceClass?:
    | 'battery'
    | 'cold'
    | 'connectivity'
    | 'heat'
    | 'moisture'
    | 'power'
    | 'problem'
    | 'running'
    | 'safety'
    | 'tamper';
  readonly value: (view: View) => boolean | null;
  readonly attributes?: Attributes;
  /** Open incidents. Their texts in the chosen language are in the attribute `alerts`. */
  readonly alerts?: (view: View) => readonly Incident[];
};

/** A valve that Home Assistant can open and close. */
type ValveRow<View> = Common<View> & {
  readonly component: 'valve';
  readonly deviceClass: 'water';
  readonly value: (view: View) => Valve | null;
  readonly command: Command<View, 'open' | 'close'>;
};

/** An event entity: it has no state, and each message is one event. */
export type EventRow<View> = Common<View> & {
  readonly component: 'event';
  /** Its topic below the device's topic. The messages are not retained. */
  readonly path: string;
  readonly eventTypes: readonly string[];
};

/** A button: it has a command and no state. */
export type ButtonRow<View> = Common<View> & {
  readonly component: 'button';
  /** The payload that Home Assistant sends. The command receives any payload. */
  readonly payload?: string;
  readonly command: Command<View, string>;
};

/** One of several words, which Home Assistant can change. */
export type SelectRow<View> = Common<View> & {
  readonly component: 'select';
  /** The options besides the current value. */
  readonly options: readonly string[];
  readonly value: (view: View) => string | null;
  readonly command: Command<View, string> | FieldCommand<View>;
};

/** A switch: on, off, or unknown (null). */
export type SwitchRow<View> = Common<View> & {
  readonly component: 'switch';
  readonly value: (view: View) => boolean | null;
  readonly command: FieldCommand<View>;
};

/** A number of minutes within a range. */
type NumberRow<View> = Common<View> & {
  readonly component: 'number';
  readonly deviceClass?: 'duration';
  readonly unit: 'min';
  readonly min: number;
  readonly max: number;
  readonly value: (view: View) => number;
  readonly command: Command<View, string>;
};

/** A text that Home Assistant can change. */
export type TextRow<View> = Common<View> & {
  readonly component: 'text';
  /**
   * A regular expression for both Python and JavaScript. Home Assistant does not show a value that does not match it.
   */
  readonly pattern?: string;
  readonly value: (view: View) => string | null;
  readonly command: FieldCommand<View>;
};

/** An entity that takes commands. */
export type CommandRow<View> =
  | ValveRow<View>
  | ButtonRow<View>
  | SelectRow<View>
  | SwitchRow<View>
  | NumberRow<View>
  | TextRow<View>;

/** An entity: one row, from which its discovery, state, command and documentation are made. */
export type EntityRow<View> = SensorRow<View> | BinarySensorRow<View> | EventRow<View> | CommandRow<View>;

/** The operations that `control` permits and the cloud has. */
export type SupportedOperations = (operation: OperationName) => boolean;

/** The operation that a command needs on this device. */
export function requiredOperation<View, Name>(operation: PerDevice<View, Name>, view: View): Name {
  return typeof operation === 'function' ? (operation as (view: View) => Name)(view) : operation;
}

/** Whether the device has the entity, according to the row and to the offered operations. */
export function hasEntity<View>(row: EntityRow<View>, view: View, offers: SupportedOperations): boolean {
  if ('command' in row) {
    const needed = requiredOperation<View, OperationName | null>(row.command.operation, view);
    if (needed !== null && !offers(needed)) return false;
  }
  return row.exists?.(view) ?? true;
}
