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

export type BridgeAction =
  | { readonly kind: 'refresh' }
  | { readonly kind: 'set_log_level'; readonly level: string }
  | { readonly kind: 'dismiss_failure'; readonly sonicId: string }
  /** With 0 minutes, `pause` ends a pause of the automatic shut-off. */
  | { readonly kind: 'pause'; readonly propertyId: string; readonly minutes: number };

/** What a command does: calls of the cloud, or an action of the bridge. */
export type CommandAction = Call | readonly Call[] | BridgeAction;

export interface Refusal {
  readonly refusal: string;
}

interface Common<View> {
  /** Part of the unique id and the component id. It must never change. */
  readonly key: string;
  /** In sentence case, without the device's name, with its translations in `src/texts`; null for the device's main entity. */
  readonly name: EntityName | null;
  /** By default, what most entities of the kind of device need. */
  readonly needs?: AvailabilitySource;
  readonly category?: 'config' | 'diagnostic';
  readonly icon?: `mdi:${string}`;
  readonly isDisabledByDefault?: true;
  /** Whether this device has the entity. If it is not given, every device has. */
  readonly exists?: (view: View) => boolean;
}

type Row<Platform, Draft> = Draft & { readonly component: Platform; readonly needs: AvailabilitySource };

export type PerDevice<View, Name> = Name | ((view: View) => Name);

export interface Command<View, Input> {
  readonly path: string;
  /** If `control` forbids it or the cloud does not offer it, there is no entity, or only a valve without commands. */
  readonly operation: PerDevice<View, OperationName | null>;
  readonly action: (view: View, input: Input) => CommandAction | Refusal;
}

/** A command that sets one field. The body of the operation defines the allowed values. */
export interface FieldCommand<View = unknown, Field extends string = BodyField<FieldOperation>> {
  readonly path: string;
  readonly operation: PerDevice<View, FieldOperation>;
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
// `sensorClasses` in test/support/homeAssistantRules.ts has them for the tests.
type Measured =
  | Measurement<'volume_flow_rate', 'L/min'>
  | Measurement<'pressure', 'bar'>
  | Measurement<'temperature', '°C'>
  | Measurement<'signal_strength', 'dBm'>
  | Measurement<'distance', 'mm' | 'm'>
  | Measurement<'battery' | 'humidity', '%'>
  | Measurement<'voltage', 'mV' | 'V'>
  | { readonly deviceClass: 'duration'; readonly unit: 's' | 'min'; readonly stateClass?: 'measurement' }
  | { readonly deviceClass: 'volume' | 'water'; readonly unit: 'L'; readonly stateClass?: never }
  | { readonly stateClass: 'measurement' };
interface Measurement<Class, Unit> {
  readonly deviceClass: Class;
  readonly unit: Unit;
  readonly stateClass: 'measurement';
}
/** Counted water: since the last reset, or in total. At most one row of a table has resets. */
interface Counted<View> {
  readonly deviceClass: 'water';
  readonly unit: 'L';
  readonly stateClass: 'total';
  /** ISO 8601 with offset; null if it is not known. */
  readonly lastReset?: (view: View) => string | null;
}
type NumberSensor<View> = (Measured | Counted<View>) & {
  readonly value: (view: View) => number | null;
  readonly precision?: number;
};
interface EnumSensor<View> {
  readonly deviceClass: 'enum';
  readonly options: readonly string[];
  /** The state is a word of the chosen language, and the attribute `code` is the option. */
  readonly isInWords?: true;
  readonly value: (view: View) => string | null;
}
/** A time is ISO 8601 in UTC, as from `isoFromUnixSeconds` in model/calendar.ts. A date is YYYY-MM-DD. */
interface TimeSensor<View> {
  readonly deviceClass: 'timestamp' | 'date';
  readonly value: (view: View) => string | null;
}
interface TextSensor<View> {
  readonly value: (view: View) => string | null;
}
/** Sentences of the headline in the chosen language, as many as fit into a state. */
interface SentenceSensor<View> {
  readonly sentences: (view: View, bridge: BridgeFacts) => readonly Sentence[];
}
type Sensor<View> = Common<View> & {
  readonly category?: 'diagnostic';
  readonly attributes?: Attributes;
} & (NumberSensor<View> | EnumSensor<View> | TimeSensor<View> | TextSensor<View> | SentenceSensor<View>);

/** The value is on, off, or unknown (null). */
interface BinarySensor<View> extends Common<View> {
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
}

interface ValveEntity<View> extends Common<View> {
  readonly deviceClass: 'water';
  readonly value: (view: View) => Valve | null;
  readonly command: Command<View, 'open' | 'close'>;
}

interface Button<View> extends Common<View> {
  /** The payload that Home Assistant sends. The command receives any payload. */
  readonly payload?: string;
  readonly command: Command<View, string>;
}

interface Select<View> extends Common<View> {
  /** The options besides the current value. */
  readonly options: readonly string[];
  readonly value: (view: View) => string | null;
  readonly command: Command<View, string> | FieldCommand<View>;
}

/** The value is on, off, or unknown (null). */
interface Switch<View> extends Common<View> {
  readonly value: (view: View) => boolean | null;
  readonly command: FieldCommand<View>;
}

interface NumberEntity<View> extends Common<View> {
  readonly deviceClass?: 'duration';
  readonly unit: 'min';
  readonly min: number;
  readonly max: number;
  readonly value: (view: View) => number | null;
  readonly command: Command<View, string>;
}

interface TextEntity<View> extends Common<View> {
  /** A regular expression for Python and JavaScript. Home Assistant shows no value that does not match it. */
  readonly pattern?: string;
  readonly value: (view: View) => string | null;
  readonly command: FieldCommand<View>;
}

type SensorRow<View> = Row<'sensor', Sensor<View>>;
export type BinarySensorRow<View> = Row<'binary_sensor', BinarySensor<View>>;
type ButtonRow<View> = Row<'button', Button<View>>;
export type SelectRow<View> = Row<'select', Select<View>>;
export type SwitchRow<View> = Row<'switch', Switch<View>>;
export type TextRow<View> = Row<'text', TextEntity<View>>;

export type CommandRow<View> =
  | Row<'valve', ValveEntity<View>>
  | ButtonRow<View>
  | SelectRow<View>
  | SwitchRow<View>
  | Row<'number', NumberEntity<View>>
  | TextRow<View>;

/** An entity: one row, from which its discovery, state, command and documentation are made. */
export type EntityRow<View> = SensorRow<View> | BinarySensorRow<View> | CommandRow<View>;

/**
 * Functions that make the rows of a table, one for each platform. Each row is checked by itself, so that `tsc` reports
 * an error at its row. `usual` is what an entity of the table needs if its row does not say.
 */
export function rowsFor<View>(usual: AvailabilitySource) {
  const made = <Platform extends string, Draft extends Common<View>>(component: Platform, draft: Draft) => ({
    ...draft,
    component,
    needs: draft.needs ?? usual,
  });
  return {
    sensor: (draft: Sensor<View>) => made('sensor', draft),
    binarySensor: (draft: BinarySensor<View>) => made('binary_sensor', draft),
    valve: (draft: ValveEntity<View>) => made('valve', draft),
    button: (draft: Button<View>) => made('button', draft),
    select: (draft: Select<View>) => made('select', draft),
    toggle: (draft: Switch<View>) => made('switch', draft),
    number: (draft: NumberEntity<View>) => made('number', draft),
    text: (draft: TextEntity<View>) => made('text', draft),
  };
}

/** For what few people look at. */
export const rare = { category: 'diagnostic', isDisabledByDefault: true } as const;

/** The operations that `control` permits and the cloud has. */
export type SupportedOperations = (operation: OperationName) => boolean;

export function requiredOperation<View, Name>(operation: PerDevice<View, Name>, view: View): Name {
  return typeof operation === 'function' ? (operation as (view: View) => Name)(view) : operation;
}

/** Whether an entity takes commands: `control` permits its operation, and the cloud offers it. */
export function takesCommands<View>(row: EntityRow<View>, view: View, offers: SupportedOperations): boolean {
  if (!('command' in row)) return false;
  const needed = requiredOperation<View, OperationName | null>(row.command.operation, view);
  return needed === null || offers(needed);
}

/** A valve that may not be moved still has an entity, which shows where it stands. */
export function hasEntity<View>(row: EntityRow<View>, view: View, offers: SupportedOperations): boolean {
  const isUseless = 'command' in row && row.component !== 'valve' && !takesCommands(row, view, offers);
  return !isUseless && (row.exists?.(view) ?? true);
}
