import { namedProperty } from '../model/devices.ts';
import type { Incident, Sonic } from '../model/records.ts';
import { Ownership } from './ownership.ts';
import { WifiSonics } from './wifiSonics.ts';

/** What is listed, as far as it matters for where things are. */
export interface Listed {
  /** Whether there is such a property, be it shown or not. */
  readonly hasProperty: (id: string) => boolean;
  /** The property if the account has no other; null with several, or while not all are known. */
  readonly onlyProperty: () => string | null;
  /** One that is shown. */
  readonly sonic: (id: string | null) => Sonic | undefined;
  /** The property of a sonic that is not shown; null while that is not known. */
  readonly propertyOfUnshown: (sonicId: string) => string | null;
  readonly sonics: () => readonly Sonic[];
}

/** What hangs on what: which signals and sonics are in which property, and which sonics are on which signal. */
export class Whereabouts {
  readonly signals = new Ownership();
  readonly wifi = new WifiSonics();
  readonly #listed: Listed;
  /** In which property each sonic was when that was last asked. */
  readonly #propertyOfSonic = new Map<string, string>();
  #onSignals: ReadonlyMap<string, readonly string[]> | null = null;

  constructor(listed: Listed) {
    this.#listed = listed;
  }

  /** The property in which a sonic is: its signal's, and where it has no signal the one that it names itself. */
  propertyOfSonic(sonic: Sonic | undefined): string | null {
    if (!sonic) return null;
    if (!this.wifi.has(sonic.id)) return this.signals.of(sonic.signal_id);
    const id = namedProperty(sonic);
    return id !== null && this.#listed.hasProperty(id) ? id : null;
  }

  /** The property in which an incident is, also if the account has no other; null while that is not known. */
  propertyOf(incident: Incident): string | null {
    const { sonic_id: sonicId, signal_id: signalId } = incident;
    const ofSonic = this.propertyOfSonic(this.#listed.sonic(sonicId));
    const ofUnshown = sonicId === null ? null : this.#listed.propertyOfUnshown(sonicId);
    return ofSonic ?? ofUnshown ?? this.signals.of(signalId) ?? this.#listed.onlyProperty();
  }

  /** The properties that a sonic has left and entered since the last time that this was asked. */
  moved(sonicId: string): string[] {
    const before = this.#propertyOfSonic.get(sonicId) ?? null;
    const now = this.propertyOfSonic(this.#listed.sonic(sonicId));
    if (now === before) return [];
    if (now === null) this.#propertyOfSonic.delete(sonicId);
    else this.#propertyOfSonic.set(sonicId, now);
    return [before, now].filter((id) => id !== null);
  }

  /** The sonics that are on a signal. */
  sonicsOn(signalId: string): readonly string[] {
    this.#onSignals ??= this.#index();
    return this.#onSignals.get(signalId) ?? [];
  }

  /** The Wi-Fi sonics that name a property. */
  wifiSonicsNaming(propertyId: string): string[] {
    const isIn = (id: string) => {
      const sonic = this.#listed.sonic(id);
      return sonic !== undefined && namedProperty(sonic) === propertyId;
    };
    return this.wifi.ids.filter(isIn);
  }

  /** Those of the properties that have no signal, as is known, and no sonic that needs none. */
  withoutSignals(propertyIds: readonly string[]): string[] {
    return this.signals.without(propertyIds).filter((id) => this.wifiSonicsNaming(id).length === 0);
  }

  /** The sonics are on other signals, perhaps. */
  sonicsChanged(): void {
    this.#onSignals = null;
  }

  #index(): Map<string, string[]> {
    const index = new Map<string, string[]>();
    for (const { id, signal_id: signalId } of this.#listed.sonics()) {
      if (signalId === null) continue;
      const ids = index.get(signalId);
      if (ids) ids.push(id);
      else index.set(signalId, [id]);
    }
    return index;
  }
}
