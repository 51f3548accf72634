import { incidentName } from '../entities/incidents.ts';
import { unknownIncident } from '../model/incidents.ts';
import type { Store } from '../store/store.ts';

// What is to be said of the account as a whole. `isAsked`: the cloud was asked which signals are in which property.

/** More names make no words clearer. */
const mostNamed = 5;

/** Why there is no valve to show, in words; null where there is one, or that is not known. */
export function emptyAccountWarning(store: Store, isAsked: boolean): string | null {
  if (!store.isComplete) return null;
  const { properties, signals, sonics } = store.counts();
  if (properties === 0) {
    if (store.filter.isOn && !store.filter.isMatched) {
      return 'no property of the account is selected by filters.properties';
    }
    return store.topology.otherPropertyIds.length > 0 ? null : 'the account has no property';
  }
  if (sonics > 0) return null;
  if (!store.isResolved) return wordsOfUnsaid(store, isAsked);
  const words =
    signals === 0
      ? 'the account has a property, but no hub (signal)'
      : 'the account has a hub (signal), but no valve (sonic)';
  return store.topology.isShared ? words.replace('the account', 'this part of the account') : words;
}

/** Which alerts are unknown, as nobody knows where an open incident is; said once the lists were read that may have its device. */
export function unassignedWarnings(store: Store): string[] {
  const incidents = store.isComplete ? store.incidents.deviceless : [];
  const names = new Set(incidents.map((incident) => incidentName(incident) ?? unknownIncident));
  return [...names].map(
    (name) =>
      `an open incident names no known device: ${name}. This alert shows as unknown wherever it may belong to`,
  );
}

/** They work until the next start: that one knows nothing of the old names, and deletes what is not selected. */
export function outdatedFilterWarnings(store: Store): string[] {
  return store.filter.outdated.flatMap(([name, ids]) =>
    ids
      .filter((id) => store.propertyView(id) !== null)
      .map(
        (id) =>
          `filters.properties: the account has no property ${name} any more: before the next start write its new name there, ${nameOf(store, id)}, or its id`,
      ),
  );
}

/** Facts that a householder may wonder about; nothing is wrong. */
export function accountWarnings(store: Store, isAsked: boolean): string[] {
  const { properties, signals } = store.counts();
  const { devices, filter, topology } = store;
  const bareIds = signals === 0 ? [] : store.ids('property').filter((id) => topology.isWithoutDevices(id));
  const bare = bareIds.map((id) => nameOf(store, id));
  const unmatched = filter.isMatched && devices.property.isComplete ? filter.unmatched : [];
  const others = store.isComplete && properties === 0 ? topology.otherPropertyIds.length : 0;
  return [
    wordsOfUnsaid(store, isAsked),
    others > 0 && `no property is this bridge's: the account's ${others} go to others by shard`,
    bare.length > 0 && `no hub (signal) in ${some(bare)}`,
    unmatched.length > 0 && `filters.properties: the account has no property ${some(unmatched)}`,
  ].filter((words) => typeof words === 'string');
}

/** Of which properties the cloud keeps to itself what is in them, in words; null where it has told of all. */
function wordsOfUnsaid(store: Store, isAsked: boolean): string | null {
  if (!isAsked) return null;
  const ids = store.topology.unsurveyedPropertyIds();
  const names = ids.slice(0, mostNamed + 1).map((id) => nameOf(store, id));
  return ids.length === 0 ? null : `the cloud does not say which signals (hubs) are in ${some(names)}`;
}

function nameOf(store: Store, propertyId: string): string {
  return store.devices.property.get(propertyId)?.name ?? propertyId;
}

function some(names: readonly string[]): string {
  return `${names.slice(0, mostNamed).join(', ')}${names.length > mostNamed ? ' and others' : ''}`;
}
