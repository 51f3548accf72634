import { cloudKinds } from '../../src/model/devices.ts';
import type { PlannedKind } from '../../src/store/account.ts';
import type { Store } from '../../src/store/store.ts';

const seen = new WeakMap<Store, Map<string, object>>();

/** The ids of the devices and incidents, by kind, that say something else than when this was last asked of the store. */
export function changedViews(store: Store): Record<PlannedKind, Set<string>> {
  const before = seen.get(store) ?? new Map<string, object>();
  const now = new Map<string, object>();
  for (const kind of cloudKinds) {
    for (const id of store.ids(kind)) {
      const view = store.view(kind, id);
      if (view) now.set(`${kind}/${id}`, view);
    }
  }
  for (const id of store.ids('incident')) now.set(`incident/${id}`, store.incidents.get(id) ?? {});
  seen.set(store, now);
  const changed = [...new Set([...before.keys(), ...now.keys()])].filter(
    (key) => before.get(key) !== now.get(key),
  );
  const of = (kind: PlannedKind) =>
    new Set(changed.flatMap((key) => (key.startsWith(`${kind}/`) ? key.slice(kind.length + 1) : [])));
  return { property: of('property'), signal: of('signal'), sonic: of('sonic'), incident: of('incident') };
}
