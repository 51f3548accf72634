import { type CloudDeviceKind, cloudKinds } from '../model/devices.ts';
import type { Property, Signal, Sonic } from '../model/records.ts';
import type { Changes } from './changes.ts';
import type { ReadonlyDevices, ReadonlyTopology } from './topology.ts';

/** A device was added or removed. The devices in the first complete list do not count as added. */
export interface DeviceEvent {
  readonly event: 'device_added' | 'device_removed';
  readonly kind: CloudDeviceKind;
  readonly record: Property | Signal | Sonic;
}

/**
 * The devices that this bridge shows. A device that comes, leaves or moves to another property is marked as changed.
 */
export class ShownDevices {
  readonly #devices: ReadonlyDevices;
  readonly #topology: ReadonlyTopology;
  readonly #changes: Changes;
  /** The shown devices, each with its property; null if the property is not known. */
  readonly #shown: Readonly<Record<CloudDeviceKind, Map<string, string | null>>> = {
    property: new Map(),
    signal: new Map(),
    sonic: new Map(),
  };
  /** Kinds for which a complete list was read already. Devices of these kinds that come later are new. */
  readonly #knownKinds = new Set<CloudDeviceKind>();
  #mayMove = false;
  #hasStraySonics = false;
  /** The last records of the devices that were removed since the last `place`, by kind and id. */
  readonly #gone = new Map<string, Property | Signal | Sonic>();

  constructor(devices: ReadonlyDevices, topology: ReadonlyTopology, changes: Changes) {
    this.#devices = devices;
    this.#topology = topology;
    this.#changes = changes;
  }

  has(kind: CloudDeviceKind, id: string): boolean {
    return this.#shown[kind].has(id);
  }

  ids(kind: CloudDeviceKind): string[] {
    return [...this.#shown[kind].keys()];
  }

  /** The property of a shown device; null if the property is not known. */
  propertyOf(kind: CloudDeviceKind, id: string): string | null {
    return this.#shown[kind].get(id) ?? null;
  }

  /** Ids of the devices that are shown in a property, or in no known one. */
  idsIn(kind: CloudDeviceKind, propertyId: string | null): string[] {
    return [...this.#shown[kind]].flatMap(([id, each]) => (each === propertyId ? [id] : []));
  }

  /** Whether the account has sonics, shown or not, whose property is not known. */
  get hasStraySonics(): boolean {
    return this.#hasStraySonics;
  }

  /** Devices may have come, left or moved. The next `place` checks all of them. */
  markMoved(): void {
    this.#mayMove = true;
  }

  /** Keeps the last record of a device that has left the account, for its `device_removed` event. */
  markGone(kind: CloudDeviceKind, id: string, record: Property | Signal | Sonic): void {
    this.#gone.set(`${kind}/${id}`, record);
  }

  /**
   * Finds out which devices are shown, and in which property each of them is. Returns the events, and whether any
   * device has come, left or moved.
   */
  place(): { readonly events: readonly DeviceEvent[]; readonly haveMoved: boolean } {
    const events: DeviceEvent[] = [];
    let haveMoved = false;
    for (const kind of this.#mayMove ? cloudKinds : []) {
      const shown = this.#shown[kind];
      for (const id of new Set([...shown.keys(), ...this.#devices[kind].ids])) {
        const isShown = this.#topology.isShown(kind, id);
        const wasShown = shown.has(id);
        const propertyId = isShown ? this.#topology.propertyOf(kind, id) : null;
        if (isShown === wasShown && propertyId === (shown.get(id) ?? null)) continue;
        haveMoved = true;
        this.#changes.mark(kind, id);
        if (isShown) shown.set(id, propertyId);
        else shown.delete(id);
        const record = this.#devices[kind].get(id) ?? this.#gone.get(`${kind}/${id}`);
        if (isShown === wasShown || !record) continue;
        if (wasShown) events.push({ event: 'device_removed', kind, record });
        else if (this.#knownKinds.has(kind)) events.push({ event: 'device_added', kind, record });
      }
    }
    const { sonic } = this.#devices;
    const hasStray = this.#mayMove
      ? sonic.ids.some((id) => this.#topology.propertyOf('sonic', id) === null)
      : this.#hasStraySonics;
    haveMoved ||= hasStray !== this.#hasStraySonics;
    this.#hasStraySonics = hasStray;
    this.#mayMove = false;
    this.#gone.clear();
    for (const kind of cloudKinds) if (this.#devices[kind].isComplete) this.#knownKinds.add(kind);
    return { events, haveMoved };
  }
}
