import type { Log } from '../base/log.ts';
import type { CloudClient } from '../cloud/client.ts';
import { isMissing } from '../cloud/errors.ts';
import type { Call, OperationName } from '../cloud/operations.ts';
import type { Store } from '../store/store.ts';
import { isKnownToCloud, type RecordKind } from './stillThere.ts';

/** What a path parameter names: a hub is a signal, and a thing a sonic. */
const namedBy: Readonly<Record<string, 'property' | 'signal' | 'sonic' | 'incident'>> = {
  property_id: 'property',
  signal_id: 'signal',
  hub_id: 'signal',
  sonic_id: 'sonic',
  thing_id: 'sonic',
  incident_id: 'incident',
};

/** The operations of sonics without a hub; those of a thing are of either kind. */
const wifiNames: readonly OperationName[] = [
  'read_wifi_sonic',
  'update_wifi_sonic',
  'patch_wifi_sonic',
  'command_wifi_valve',
  'read_wifi_telemetry',
];

/** Whether a call names records that can be asked for by themselves: then a 404 or 405 of it speaks of them. */
export function namesRecords({ params }: Call): boolean {
  return Object.keys(params ?? {}).some((param) => Object.hasOwn(namedBy, param));
}

/** What looking into a 404 or 405 takes. */
export interface Doubt {
  readonly client: CloudClient;
  readonly store: Store;
  readonly log: Log;
  /** Gives it up. */
  readonly signal: AbortSignal;
  /** The cloud was found not to offer an operation. */
  readonly offersChanged: () => void;
}

/**
 * Where a call about records ended in a 404 or 405, on a route that nobody has published: gives the operation up if the cloud
 * says at that time that the records are there. A slip of the keyboard, or a device that was just removed, must not
 * take it from all others; a valve that cannot be closed any more least of all. Says whether it was given up; never
 * rejects.
 */
export async function lookIntoMissing(call: Call, error: unknown, doubt: Doubt): Promise<boolean> {
  const { client, store, log, signal, offersChanged } = doubt;
  const { operation } = call;
  if (!isMissing(error) || !namesRecords(call) || !client.isInDoubt(operation)) return false;
  try {
    for (const [param, id] of Object.entries(call.params ?? {})) {
      const kind = kindOf(store, operation, param, String(id));
      const options = { signal, priority: 'command' } as const;
      if (kind === null || !(await isKnownToCloud(client, kind, String(id), options))) return false;
    }
  } catch (failure) {
    if (!signal.aborted) log.error({ err: failure }, `Looking into ${operation} went wrong`);
    return false;
  }
  client.giveUp(operation, error.status);
  const isGone = client.availability(operation) === 'unavailable';
  if (isGone) offersChanged();
  return isGone;
}

/** As what a record is shown here that the operation can be about; null for any other. */
function kindOf(store: Store, operation: OperationName, param: string, id: string): RecordKind | null {
  const kind = namedBy[param];
  if (kind === undefined) return null;
  if (kind === 'incident') return store.incident(id) && kind;
  if (!store.view(kind, id)) return null;
  if (kind !== 'sonic') return kind;
  const isWifi = store.isWifi(id);
  const isOfKind = param === 'thing_id' || wifiNames.includes(operation) === isWifi;
  if (!isOfKind) return null;
  return isWifi ? 'wifiSonic' : 'sonic';
}
