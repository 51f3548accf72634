import type { Sonic } from '../model/records.ts';
import type { Reading } from './readings.ts';

/** Which sonics have no hub: the cloud lists them by themselves, and has routes of their own for them. */
export class WifiSonics {
  readonly #ids = new Set<string>();

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  get ids(): readonly string[] {
    return [...this.#ids];
  }

  /**
   * Both lists as one set. An id in both is one device, the hub's; where the hub's list is incomplete, one that was
   * in it is taken to be there still. `moved` is called with those that are in the other list now.
   */
  join(
    hub: Reading<Sonic>,
    wifi: Omit<Reading<Sonic>, 'startedAt'>,
    isKnown: (id: string) => boolean,
    moved: (id: string) => void,
  ): Reading<Sonic> {
    const isComplete = hub.isComplete && wifi.isComplete;
    // Most homes have none, and never had.
    if (wifi.records.length + this.#ids.size === 0) return { ...hub, isComplete };
    const ofHub = new Set(hub.records.map(({ id }) => id));
    const isOfHub = (id: string) => ofHub.has(id) || (!hub.isComplete && isKnown(id) && !this.has(id));
    const own = wifi.records.filter(({ id }) => !isOfHub(id));
    for (const id of ofHub) if (this.#ids.delete(id)) moved(id);
    for (const { id } of own) {
      if (this.has(id)) continue;
      this.#ids.add(id);
      if (isKnown(id)) moved(id);
    }
    return { ...hub, records: [...hub.records, ...own], isComplete };
  }

  /** Forgets a sonic that is gone. */
  forget(id: string): void {
    this.#ids.delete(id);
  }
}
