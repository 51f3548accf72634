import { type CloudDeviceKind, cloudKinds } from '../model/devices.ts';

/** A device of the cloud. */
export interface DeviceKey {
  readonly kind: CloudDeviceKind;
  readonly id: string;
}

/** Discovery is planned for these: devices by kind, and open incidents. */
export const plannedKinds = [...cloudKinds, 'incident'] as const;
export type PlannedKind = (typeof plannedKinds)[number];

/** Ids of devices and incidents to plan again, by kind. */
export type Dirty = Readonly<Record<PlannedKind, ReadonlySet<string>>>;

/** Collects the devices and incidents to plan again because they, or data that they show, have changed. */
export class Changes {
  #dirty = nothing();
  #isMarked = false;

  mark(kind: PlannedKind, id: string): void {
    this.#dirty[kind].add(id);
    this.#isMarked = true;
  }

  /** The devices and incidents marked since the last call. */
  take(): Dirty {
    const taken = this.#dirty;
    this.#dirty = nothing();
    return taken;
  }

  /** Whether anything was marked since the last call. */
  wasMarked(): boolean {
    const wasMarked = this.#isMarked;
    this.#isMarked = false;
    return wasMarked;
  }
}

function nothing(): Record<PlannedKind, Set<string>> {
  return { property: new Set(), signal: new Set(), sonic: new Set(), incident: new Set() };
}
