import { catalogue, type Reply } from '../cloud/catalogue.ts';
import { alertsOf } from '../entities/alerts.ts';
import { type EntityRow, hasEntity, type SupportedOperations, type TextRow } from '../entities/row.ts';
import { entityTable } from '../entities/tables.ts';
import type { CloudDeviceKind, DeviceKind, DeviceView, SignalView, SonicView } from '../model/devices.ts';
import {
  highestSeverity,
  newestByType,
  newestFirst,
  openCount,
  type WithIncidents,
} from '../model/incidents.ts';
import type { Language } from '../model/language.ts';
import type { ShownPause } from '../model/pause.ts';
import { isAvailable } from '../model/reach.ts';
import type { Incident, Telemetry } from '../model/records.ts';
import { withoutSettings } from '../model/settings.ts';
import { measurementOf } from '../model/telemetry.ts';
import type { Usage } from '../model/usage.ts';
import type { ValveRecord } from '../model/valveCommand.ts';
import {
  alertsKey,
  codeEnd,
  type DiscoveryOrigin,
  type DiscoveryPlan,
  lastResetKey,
  maxStateLength,
  planDiscovery,
  shortened,
  stateInWords,
  viewId,
} from './discovery.ts';
import { alertInWords, failureInWords, inWords, type Moment, type Wording } from './sentences.ts';
import { type DocumentPath, type Message, statesPath, type Topics } from './topics.ts';

/*
 * What Home Assistant receives and sends. `planDevice` says which messages of a device should be retained. It makes
 * them from a view of the device and the rows in `entities`: the discovery message (`discovery.ts`), the states of the
 * entities, and the documents for other programs. `parseCommand` (`command.ts`) finds the row of a command, and says
 * what the command does. All topics are made in `topics.ts`. Nothing here has a clock or a connection, or remembers
 * earlier messages.
 */

export interface PlanContext extends DiscoveryOrigin {
  readonly offers: SupportedOperations;
  readonly isDiscoveryOn: boolean;
  /** The moment at a property; null stands for devices whose property is not known. */
  readonly moment: (propertyId: string | null) => Moment;
}

export interface DevicePlan {
  /** Null if discovery is switched off. It is planned when it is wanted, after all values. */
  readonly discovery: (() => DiscoveryPlan) | null;
  /**
   * In the order in which they must be published, so that no old value ever looks available: `offline` comes before
   * everything else, and `online` after everything else.
   */
  readonly messages: readonly Message[];
  /** Topics that must have no message. */
  readonly unwanted: readonly string[];
  /** Topics whose messages must stay, because nobody else has their content: running totals and pauses. */
  readonly staying: readonly string[];
}

/** How many alerts are listed. The recorder of Home Assistant refuses attributes above 16 KB. */
const mostAlertsInWords = 20;

const mostOpenIncidents = 50;

export function planDevice(view: DeviceView, context: PlanContext): DevicePlan {
  const { topics, isDiscoveryOn } = context;
  const { kind } = view;
  const id = viewId(view);
  const states = isDiscoveryOn ? entityStates(view, context) : noMessage;
  const { messages, ...others } = planDocuments(
    kind,
    id,
    [...documents(view, context.language), [statesPath, states]],
    topics,
  );
  const discovery = isDiscoveryOn ? () => planDiscovery(view, context.offers, context) : null;
  return { discovery, messages: onlineLast(messages), ...others };
}

/** The bridge's own data of a device that this run has not read. */
interface KnownOfUnread {
  readonly name?: string | undefined;
  readonly usage?: Usage | null | undefined;
  readonly pause?: ShownPause | undefined;
  readonly record?: ValveRecord | undefined;
}

/**
 * The retained messages of a device that an earlier run has published, but this run has not read. The
 * device may still exist, so its entities stay. Their values are unknown, except what the bridge knows by itself.
 */
export function planUnread(
  kind: CloudDeviceKind,
  id: string,
  known: KnownOfUnread,
  { topics, isDiscoveryOn, language }: Pick<PlanContext, 'topics' | 'isDiscoveryOn' | 'language'>,
): Omit<DevicePlan, 'discovery'> {
  const states = isDiscoveryOn ? { ...unknownStates[kind], ...ownStates(known) } : noMessage;
  const documents = unreadDocuments(kind, id, known, language);
  return planDocuments(kind, id, [...documents, [statesPath, states]], topics);
}

function planDocuments(kind: DeviceKind, id: string, documentsOf: readonly Document[], topics: Topics) {
  const messages: Message[] = [];
  const unwanted: string[] = [];
  const staying: string[] = [];
  for (const [path, content] of documentsOf) {
    const topic = topics.document(kind, id, path);
    if (content === asItIs) staying.push(topic);
    else if (content === noMessage) unwanted.push(topic);
    else messages.push({ topic, payload: typeof content === 'string' ? content : JSON.stringify(content) });
  }
  return { messages, unwanted, staying };
}

/** Moves `online` to the end. The availability is the first document, so `offline` stays first. */
function onlineLast(messages: readonly Message[]): readonly Message[] {
  const [first, ...others] = messages;
  return first?.payload === 'online' ? [...others, first] : messages;
}

/** There must be no such message on the broker. */
const noMessage = Symbol('no message');
/** If there is such a message on the broker, it stays. */
const asItIs = Symbol('as it is');

type Content = string | object | typeof noMessage | typeof asItIs;
type Document = readonly [path: DocumentPath, content: Content];

function documents(view: DeviceView, language: Language): readonly Document[] {
  switch (view.kind) {
    case 'bridge':
      return [['incidents', newestOpen(view)]];
    case 'property':
      return [
        ['', view.isStale ? { ...withoutSettings(view.property), id: view.property.id } : view.property],
        ['settings', contentOf(view.settings, unknownSettings)],
        ['notifications', contentOf(view.notifications, unknownNotifications)],
        ['pause', view.pause ?? asItIs],
        ['incidents', newestOpen(view)],
      ];
    case 'signal':
      return [
        ['availability', availability(view)],
        ['', { ...view.signal, property_id: view.propertyId, hub_status: view.hub?.status ?? null }],
        ['incidents', openByType(view)],
      ];
    case 'sonic':
      return [
        ['availability', availability(view)],
        [
          '',
          {
            ...view.sonic,
            property_id: view.propertyId,
            valve: view.valve,
            valve_travel_time_s: view.travelTimeS,
          },
        ],
        ['telemetry', view.telemetry === null ? noMessage : telemetryShown(view.telemetry)],
        ['usage', contentOf(view.usage && usageShown(view.usage), asItIs)],
        ['pressure_tests', pressureTestsShown(view)],
        ['last_command', commandShown(view.valveRecord, view.sonic.name?.trim() || 'Sonic', language)],
        ['movement', view.valveRecord.movement ?? noMovement],
        ['incidents', openByType(view)],
      ];
  }
}

function unreadDocuments(
  kind: CloudDeviceKind,
  id: string,
  { name, usage, pause, record }: KnownOfUnread,
  language: Language,
): readonly Document[] {
  switch (kind) {
    case 'property':
      return [
        ['', { ...unknownProperty, id }],
        ['settings', unknownSettings],
        ['notifications', unknownNotifications],
        ['pause', pause ?? asItIs],
        ['incidents', newestOpen(unknownIncidents)],
      ];
    case 'signal':
      return [
        ['availability', 'offline'],
        ['', asItIs],
        ['incidents', openByType(unknownIncidents)],
      ];
    case 'sonic':
      return [
        ['availability', 'offline'],
        ['', asItIs],
        ['telemetry', telemetryShown(undefined)],
        ['usage', usage ? usageShown(usage) : asItIs],
        ['pressure_tests', unknownTests],
        ['last_command', record?.command ? commandShown(record, name?.trim() || id, language) : asItIs],
        ['movement', record?.movement ?? asItIs],
        ['incidents', openByType(unknownIncidents)],
      ];
  }
}

/** What the cloud does not have has no message. `unread` is the content while it was not read. */
function contentOf(value: object | null | undefined, unread: Content): Content {
  return value === undefined ? unread : (value ?? noMessage);
}

const unknownIncidents: WithIncidents = {
  incidents: [],
  possibleIncidents: [],
  areIncidentsFresh: false,
  isReporting: false,
};

const unknownTests = { last_day: null, today_count: null, days: null, job_id: null };

/** A record with these fields, and null in every other one. */
function blank<T>({ decode }: Reply<T>, fields: object = {}): T {
  const decoded = decode(fields);
  if (!decoded.ok) throw new Error(decoded.message);
  return decoded.value;
}

const { read_property, read_property_settings, read_notification_settings } = catalogue;
const unknownProperty = blank(read_property.reply, { id: 'any' });
const unknownSettings = blank(read_property_settings.reply);
const unknownNotifications = blank(read_notification_settings.reply);

function availability({ reach }: SignalView | SonicView): string {
  return isAvailable(reach) ? 'online' : 'offline';
}

function newestOpen(view: WithIncidents) {
  return {
    open_count: openCount(view),
    highest_severity: view.incidents.length === 0 ? null : highestSeverity(view),
    open: newestFirst(view.incidents).slice(0, mostOpenIncidents),
  };
}

function openByType(view: WithIncidents) {
  return { open_count: openCount(view), open: newestByType(view.incidents) };
}

function telemetryShown(telemetry: Telemetry | undefined) {
  const measurement = telemetry && measurementOf(telemetry);
  return {
    flow_l_min: measurement?.flowLMin ?? null,
    pressure_bar: measurement?.pressureBar ?? null,
    water_temperature_c: measurement?.waterTemperatureC ?? null,
    probed_at: measurement?.probedAt ?? null,
  };
}

function usageShown(usage: Usage) {
  return {
    today: usage.todayL,
    yesterday: usage.yesterdayL,
    month: usage.monthL,
    total: usage.totalL,
    last_reset: usage.lastReset,
    days: usage.days,
    updated_at: usage.updatedAt,
  };
}

const noCommand = { action: null, asked_at: null, status: null, reason: null };
const noMovement = { valve: null, at: null, by: null, topic: null, incident_id: null };

/** The newest command. `failed` is the failed command that Home Assistant shows as a problem, with a text. */
function commandShown({ command, failed }: ValveRecord, name: string, language: Language) {
  const { action, asked_at, status, reason } = command ?? noCommand;
  const words = failed && {
    action: failed.action,
    reason: failed.reason,
    asked_at: failed.asked_at,
    status: failed.status,
    waited_s: failed.waited_s,
    may_have_moved: failed.may_have_moved,
    text: failureInWords(failed, name, language),
  };
  return { action, asked_at, status, reason, failed: words };
}

/** The pressure tests. Even if the cloud shows none, the job of a test that was started here is published. */
function pressureTestsShown({ pressureTests: tests, pressureTestJobId }: SonicView) {
  if (tests === undefined) return { ...unknownTests, job_id: pressureTestJobId };
  if (tests === null && pressureTestJobId === null) return noMessage;
  const { lastDay = null, todayCount = null, days = {} } = tests ?? {};
  return { last_day: lastDay, today_count: todayCount, days, job_id: pressureTestJobId };
}

/**
 * The states of a device's entities by key, in Home Assistant's words; null means unknown. Entities that the device
 * does not have are included: until its entity is removed, Home Assistant warns about a missing key.
 */
export function entityStates(
  view: DeviceView,
  { offers, language, moment }: Pick<PlanContext, 'offers' | 'language' | 'moment'>,
): EntityStates {
  // Computed on demand: few states have texts, and finding out the moment takes time.
  const wording = () => ({ language, ...moment(propertyIdOf(view)) });
  return statesOf(view.kind, (row) => (hasEntity(row, view, offers) ? view : null), language, wording);
}

type EntityStates = Readonly<Record<string, string | number | null | readonly string[]>>;

function propertyIdOf(view: DeviceView): string | null {
  if (view.kind === 'bridge') return null;
  return view.kind === 'property' ? view.property.id : view.propertyId;
}

const unknownStates: Readonly<Record<CloudDeviceKind, EntityStates>> = {
  property: statesOf('property', () => null),
  signal: statesOf('signal', () => null),
  sonic: statesOf('sonic', () => null),
};

/** The entities of an unread device that need only the bridge. */
function ownStates({ record, pause }: KnownOfUnread): EntityStates {
  return {
    ...(record?.command && { command_failed: stateWord(record.failed !== null) }),
    ...(pause && { paused_until: pause.until }),
  };
}

/** A row for which `viewOf` returns null is unknown. */
function statesOf(
  kind: DeviceKind,
  viewOf: (row: EntityRow<DeviceView>) => DeviceView | null,
  language: Language = 'en',
  wording?: () => Wording,
): EntityStates {
  const states: Record<string, string | number | null | readonly string[]> = {};
  for (const row of entityTable(kind)) {
    const view = viewOf(row);
    const { key } = row;
    if (row.component === 'text') states[key] = view ? shownText(row, view) : '';
    else if ('isInWords' in row) {
      const option = view && row.value(view);
      states[key] = stateWord(option && stateInWords(key, option, language));
      if (!row.attributes) states[`${key}${codeEnd}`] = stateWord(option);
    } else if ('value' in row) states[key] = view && stateWord(row.value(view));
    else if ('sentences' in row) {
      const now = view && wording?.();
      states[key] = stateWord((now && inWords(row.sentences(view, now.bridge), now, maxStateLength)) ?? null);
    }
    if ('alerts' in row) {
      const open = (view && row.alerts?.(view)) ?? [];
      states[alertsKey] = open.length > 0 && wording ? alertsInWords(open, wording()) : [];
    }
    // Home Assistant skips an empty time, but warns about any other word that is no time.
    if ('lastReset' in row) states[lastResetKey] = (view && row.lastReset?.(view)) || '';
  }
  return states;
}

function alertsInWords(open: readonly Incident[], wording: Wording): readonly string[] {
  const alerts = alertsOf(open).slice(0, mostAlertsInWords);
  return alerts.map((alert) => alertInWords(alert, wording));
}

function stateWord(value: string | number | boolean | null): string | number | null {
  if (typeof value === 'boolean') return value ? 'ON' : 'OFF';
  return typeof value === 'string' ? shortened(value, maxStateLength) || null : value;
}

/** A text has no word for unknown, and Home Assistant fails on a text that does not fit its pattern. */
function shownText({ pattern, value }: TextRow<DeviceView>, view: DeviceView): string {
  const text = shortened(value(view) ?? '', maxStateLength);
  return pattern === undefined || new RegExp(pattern, 'u').test(text) ? text : '';
}

export function planIncident(incident: Incident, topics: Topics): Message {
  return { topic: topics.incident(incident.id), payload: JSON.stringify(incident) };
}
