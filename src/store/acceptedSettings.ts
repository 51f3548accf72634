import type { AcceptedSettings } from '../model/settings.ts';

/** Keeps accepted settings over a restart. */
export interface AcceptedMemory {
  readonly acceptedBy: (propertyId: string) => AcceptedSettings;
  readonly recordAccepted: (propertyId: string, settings: AcceptedSettings) => void;
  readonly forgetAccepted: (propertyId: string) => void;
}

/** By property: settings that the cloud has accepted but does not return when they are read. */
export class AcceptedTable {
  readonly #memory: AcceptedMemory | undefined;
  readonly #accepted = new Map<string, AcceptedSettings>();

  constructor(memory: AcceptedMemory | undefined) {
    this.#memory = memory;
  }

  /** The settings of a property that the cloud accepted last, in this run or an earlier one. */
  of(propertyId: string): AcceptedSettings {
    return { ...this.#memory?.acceptedBy(propertyId), ...this.#accepted.get(propertyId) };
  }

  /** Adds settings, replacing earlier ones with the same names. */
  record(propertyId: string, settings: AcceptedSettings): void {
    this.#accepted.set(propertyId, { ...this.#accepted.get(propertyId), ...settings });
    this.#memory?.recordAccepted(propertyId, settings);
  }

  /** Forgets a property that is no longer shown. */
  forget(propertyId: string): void {
    this.#accepted.delete(propertyId);
    this.#memory?.forgetAccepted(propertyId);
  }
}
