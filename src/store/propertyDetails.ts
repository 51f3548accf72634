import type { NotificationSettings, PropertySettings } from '../model/records.ts';
import type { AcceptedSettings } from '../model/settings.ts';
import { merged, update } from './latest.ts';
import type { Precedence } from './precedence.ts';

/** What of them is kept over a restart. */
export interface AcceptedMemory {
  readonly acceptedBy: (propertyId: string) => AcceptedSettings;
  readonly keepAccepted: (propertyId: string, settings: AcceptedSettings) => void;
  readonly forgetAccepted: (propertyId: string) => void;
}

type Read<T> = Map<string, T | null>;

/** What is read property by property, and what the cloud accepted and does not show; times as in `Precedence`. */
export class PropertyDetails {
  readonly #settings: Read<PropertySettings> = new Map();
  readonly #notifications: Read<NotificationSettings> = new Map();
  readonly #accepted = new Map<string, AcceptedSettings>();
  /** What was shown before and refused when it was last read, as `kind/id`. */
  readonly #refused = new Set<string>();
  readonly #precedence: Precedence;

  readonly #memory: AcceptedMemory | undefined;

  constructor(precedence: Precedence, memory?: AcceptedMemory) {
    this.#precedence = precedence;
    this.#memory = memory;
  }

  /**
   * Takes in what was read: null, the cloud shows none; undefined, nobody knows. What it has shown before it must refuse
   * twice in a row. Says whether it was news.
   */
  replace(
    id: string,
    settings: PropertySettings | null | undefined,
    notifications: NotificationSettings | null | undefined,
    startedAt: number,
  ): boolean {
    const isNew = <T extends object>(kind: string, map: Read<T>, read: T | null | undefined) => {
      if (read === undefined || this.#precedence.isOlder(kind, id, startedAt)) return false;
      if (read === null && map.get(id) && this.#isRefusedFirst(`${kind}/${id}`)) return false;
      this.#refused.delete(`${kind}/${id}`);
      return update(map, id, read);
    };
    const areNew = [
      isNew('settings', this.#settings, settings),
      isNew('notifications', this.#notifications, notifications),
    ];
    return areNew.includes(true);
  }

  /** Takes in the answer to a change of the settings; says whether it was news. */
  changeSettings(id: string, answer: PropertySettings, at: number): boolean {
    return this.#take('settings', this.#settings, id, answer, at);
  }

  /** Takes in the answer to a change of the notification settings; says whether it was news. */
  changeNotifications(id: string, answer: NotificationSettings, at: number): boolean {
    return this.#take('notifications', this.#notifications, id, answer, at);
  }

  /** Notes settings that the cloud accepted and does not show. */
  accept(id: string, settings: AcceptedSettings): void {
    this.#accepted.set(id, { ...this.#accepted.get(id), ...settings });
    this.#memory?.keepAccepted(id, settings);
  }

  /**
   * Null where the cloud shows none, undefined as long as that is not known. A webhook's address that it does not show
   * is the one that it accepted last.
   */
  settings(id: string): PropertySettings | null | undefined {
    const settings = this.#settings.get(id);
    const { webhook_url } = this.accepted(id);
    if (!settings || settings.webhook_url !== null || webhook_url === undefined) return settings;
    return { ...settings, webhook_url };
  }

  /** Null where the cloud shows none, undefined as long as that is not known. */
  notifications(id: string): NotificationSettings | null | undefined {
    return this.#notifications.get(id);
  }

  accepted(id: string): AcceptedSettings {
    return { ...this.#memory?.acceptedBy(id), ...this.#accepted.get(id) };
  }

  /** Forgets a property that is gone. */
  forget(id: string): void {
    for (const map of [this.#settings, this.#notifications, this.#accepted]) map.delete(id);
    this.#memory?.forgetAccepted(id);
    for (const kind of ['settings', 'notifications']) {
      this.#precedence.forget(kind, id);
      this.#refused.delete(`${kind}/${id}`);
    }
  }

  #isRefusedFirst(key: string): boolean {
    const isFirst = !this.#refused.has(key);
    this.#refused.add(key);
    return isFirst;
  }

  #take<T extends object>(kind: string, map: Read<T>, id: string, answer: T, at: number): boolean {
    const before = map.get(id);
    this.#precedence.heard(kind, id, at);
    return before ? update(map, id, merged(before, answer)) : false;
  }
}
