import { listNames } from '../base/listNames.ts';
import { nearest } from '../base/nearest.ts';
import { incidentName } from '../entities/incidents.ts';
import { isTimezone } from '../model/calendar.ts';
import { type HealthStatus, kindLabels } from '../model/devices.ts';
import { isAboutHub, isTypeUnknown } from '../model/incidents.ts';
import { isConnected, linkWord } from '../model/reach.ts';
import type { RefusedDevices } from '../polling/pollParts.ts';
import type { Store } from '../store/store.ts';

/** A half of the bridge. */
export type SideName = 'cloud' | 'broker';

/** One problem, or one piece of information. */
export interface Finding {
  /** What happened, what it means and what to do, in short sentences without the last full stop. */
  readonly message: string;
  /** The same text for each occurrence of one problem, and another text for another problem; by default the message. */
  readonly key?: string;
  /** Replaces the status of the check. */
  readonly status?: HealthStatus;
  readonly stops?: SideName | undefined;
  /** Whether the log waits, because the problem may end soon, or become an outage that has its own line. */
  readonly isBrief?: boolean;
  /** Why the cloud's data cannot be read at all, for the log. */
  readonly outage?: string;
}

// Problems of the account as a whole. `isAsked` says whether the properties and each property's list of hubs were read
// once.

/** The problems of the account, and harmless facts that its owner may wonder about. */
export function accountProblems(store: Store, isAsked: boolean): Finding[] {
  const emptiness = emptyAccount(store, isAsked);
  const unlisted = unlistedHubs(store, isAsked).filter((message) => message !== emptiness);
  return [
    ...(emptiness === null ? [] : [asProblem(emptiness)]),
    ...uncertainIncidents(store).map(asProblem),
    ...renamedProperties(store).map(asProblem),
    ...sharedIds(store).map(asProblem),
    ...valvesWithoutHub(store).map(asProblem),
    ...unknownLinks(store).map(asProblem),
    // Without the list, a filter does not know the valves of the property.
    ...unlisted.map(store.filter.isOn ? asProblem : asFact),
    ...harmlessFacts(store).map(asFact),
  ];
}

const asProblem = (message: string): Finding => ({ message });
const asFact = (message: string): Finding => ({ message, status: 'ok' });

/** Why there is no valve to show; null if there is one, or if the reason is not known yet. */
export function emptyAccount(store: Store, isAsked: boolean): string | null {
  if (!store.areListsComplete) return null;
  const { properties, signals, sonics } = store.counts();
  if (properties === 0) {
    if (store.filter.isOn && !store.filter.isMatched) {
      return 'filters.properties matches no property of the account. Nothing is shown. Correct the names';
    }
    return "The account has no property. Sign in to the vendor's app with the same e-mail";
  }
  if (sonics > 0) return null;
  const [unlisted = null] = unlistedHubs(store, isAsked);
  if (!store.isComplete || unlisted !== null) return unlisted;
  const missing = signals === 0 ? 'hub' : 'valve';
  // With a filter, the others are in properties that it leaves out.
  if (store.devices[signals === 0 ? 'signal' : 'sonic'].size > 0)
    return `The selected properties have no ${missing}, and others have. Correct filters.properties`;
  return signals === 0
    ? "The account has a property, but no hub. Add your devices in the vendor's app"
    : "The account has a hub, but no valve. Add your devices in the vendor's app";
}

/**
 * Incidents that make alerts unknown. They count only once all lists were read, because a later list may have their
 * device.
 */
function uncertainIncidents(store: Store): string[] {
  const uncertain = store.areListsComplete ? store.incidents.uncertain : [];
  const messages = uncertain.map(({ record, device }) => {
    const name = incidentName(record) ?? (isTypeUnknown(record) ? 'unknown type' : String(record.type));
    if (!device && isAboutHub(record)) {
      return `Open alert of a hub that the account does not have: ${name}. If the hub was replaced, resolve the alert`;
    }
    if (!device) {
      return `Open alert without a known valve or hub: ${name}. It may be at any valve. Check all valves`;
    }
    const label = store.label(device.kind, device.id);
    return device.kind === 'signal'
      ? `Open alert at hub ${label} without a known valve: ${name}. It may be at any valve of the hub. Check all of them`
      : `Open alert of an unknown type at valve ${label}. It may be any alert. Check the valve`;
  });
  return [...new Set(messages)];
}

/** Valves whose hub is in no list of the account. Nothing is known of their link. */
function valvesWithoutHub(store: Store): string[] {
  if (!store.areListsComplete) return [];
  const ids = store.ids('sonic').filter((id) => {
    const hub = store.places.sonic.get(id)?.hub ?? null;
    return hub !== null && !store.devices.signal.has(hub);
  });
  const names = listNames(ids.map((id) => store.label('sonic', id)));
  return ids.length === 0
    ? []
    : [`The last list of hubs does not have the hub of valve ${names}. The valve is shown as unavailable`];
}

/** Hubs and valves of which the cloud does not say whether they are connected. */
function unknownLinks(store: Store): string[] {
  const links = (['signal', 'sonic'] as const).flatMap((kind) =>
    store.ids(kind).flatMap((id) => {
      const record = store.devices[kind].get(id);
      const word = record && linkWord(record, store.isWifi(id));
      const isNameless = kind === 'sonic' && !store.isWifi(id) && store.places.sonic.get(id)?.hub === null;
      if (!isNameless && (word === undefined || isConnected(word) !== null)) return [];
      const view = kind === 'signal' ? store.signalView(id) : store.sonicView(id);
      // It may be offline for another reason.
      if (view?.reach !== 'unknown') return [];
      const cause = isNameless ? 'it names no hub' : JSON.stringify(word).slice(0, 60);
      return [`${kindLabels[kind]} ${store.label(kind, id)} (${cause})`];
    }),
  );
  if (links.length === 0) return [];
  const names = listNames(links);
  return [
    `The cloud does not say whether these devices are connected: ${names}. They may not react, and an alert may be missing. Check them in the vendor's app`,
  ];
}

/** IDs that both a hub and a valve have. Home Assistant has one device for each ID. */
function sharedIds(store: Store): string[] {
  const hubs = new Set(store.ids('signal'));
  return store
    .ids('sonic')
    .filter((id) => hubs.has(id))
    .map((id) => `A hub and a valve have the same ID ${id}. Home Assistant shows only one of them`);
}

/**
 * Properties that `filters.properties` still names by an old name. They are shown until the next start. That start does
 * not know the old names, so it removes these properties.
 */
function renamedProperties(store: Store): string[] {
  return store.filter.outdated.flatMap(([oldName, ids]) =>
    ids
      .filter((id) => store.isShown('property', id))
      .map(
        (id) =>
          `filters.properties: ${oldName} is now called ${propertyName(store, id)}. Correct the name before the next restart`,
      ),
  );
}

/** The message if the cloud refuses the settings of these properties: to a guest (403), or to everybody (501). */
export function settingsRefused(names: string): string {
  return `The cloud does not provide the settings of ${names}. Their controls are missing. Days begin by the last known time zone, or else by schedules.timezone`;
}

const refusable = {
  read_telemetry: 'measurements',
  read_wifi_telemetry: 'measurements',
  read_daily_usage: 'the water use',
  read_pressure_tests: 'pressure tests',
} as const;

/** Valves of which the cloud refuses some data, to this account or to all. They are no trouble of any other valve. */
export function refusedValves(refused: RefusedDevices, store: Store): string[] {
  return (Object.keys(refusable) as (keyof typeof refusable)[]).flatMap((operation) => {
    const names = [...refused[operation]].flatMap((id) =>
      store.isShown('sonic', id) ? [store.label('sonic', id)] : [],
    );
    if (names.length === 0) return [];
    return [`The cloud does not provide ${refusable[operation]} of ${listNames(names)}`];
  });
}

/** Pauses of the automatic shut-off that may be lost, or that have ended although the shut-off is still off. */
export function pauseProblems(store: Store): Finding[] {
  const unknown = store
    .ids('property')
    .filter((id) => store.pauseOf(id) === undefined && store.settings.of(id) !== null)
    .map((id) => propertyName(store, id));
  const lost = `The memory of a pause may be lost: ${listNames(unknown)}. Look at the automatic shut-off there, and turn it on. If it is to stay off, turn it off again when this message has ended`;
  const failed = [...store.pauses].filter(([, { reason }]) => reason !== null);
  const failures = failed.map(([id, { reason }]): Finding => {
    const message = `The automatic shut-off of ${store.label('property', id)} is still off after a pause: ${reason}`;
    // If the property has left the account, nobody can turn the shut-off on there.
    const isGone = store.devices.property.isComplete && !store.has('property', id);
    return isGone ? asFact(message) : asProblem(`${message}. Retrying. Turn it on in the vendor's app`);
  });
  return [...(unknown.length > 0 ? [{ message: lost, stops: 'cloud' } as const] : []), ...failures];
}

function harmlessFacts(store: Store): string[] {
  const hubs = store.ids('signal');
  // A hub that no property lists may be in each of them.
  const areListed = hubs.length > 0 && hubs.every((id) => store.places.owners.has(id));
  const bareIds = areListed ? store.ids('property').filter((id) => store.isWithoutDevices(id)) : [];
  const bare = bareIds.map((id) => propertyName(store, id));
  const unset = store.ids('property').filter((id) => store.settings.of(id) === null);
  return [
    ...(unset.length > 0 ? [settingsRefused(listNames(unset.map((id) => propertyName(store, id))))] : []),
    ...unknownTimezones(store),
    ...(bare.length > 0 ? [`No hub in ${listNames(bare)}`] : []),
    ...(store.filter.isMatched ? unmatchedFilters(store) : []),
  ];
}

/** Properties with a time zone that this machine does not know. Their days begin at another hour than those of the cloud. */
function unknownTimezones(store: Store): string[] {
  return store.ids('property').flatMap((id) => {
    const timezone = store.settings.of(id)?.timezone ?? null;
    if (timezone === null || isTimezone(timezone)) return [];
    return `Unknown time zone of ${propertyName(store, id)}: ${JSON.stringify(timezone).slice(0, 60)}. Days begin by the last known time zone, or else by schedules.timezone. Correct it in the vendor's app`;
  });
}

/** A message for each name in the filter that no property has. */
export function unmatchedFilters({ devices, filter }: Store): string[] {
  if (!devices.property.isComplete) return [];
  const names = devices.property.records.flatMap(({ id, name }) => (name ? [name, id] : [id]));
  return filter.unmatched.map((word) => {
    const near = nearest(word, names);
    const hint = near === null ? 'Check the name' : `Did you mean ${near}?`;
    return `filters.properties: the account has no property ${word}. ${hint}`;
  });
}

/** Properties whose hubs the cloud does not list. */
function unlistedHubs(store: Store, isAsked: boolean): string[] {
  if (!isAsked) return [];
  const ids = store.ids('property').filter((id) => !store.signalLists.isFresh(id));
  const names = ids.map((id) => propertyName(store, id));
  return ids.length === 0 ? [] : [`The cloud does not list the hubs of ${listNames(names)}`];
}

function propertyName(store: Store, propertyId: string): string {
  return store.devices.property.get(propertyId)?.name ?? propertyId;
}
