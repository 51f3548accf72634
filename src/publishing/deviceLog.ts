import { listNames } from '../base/listNames.ts';
import type { Log } from '../base/log.ts';
import { kindLabels, type SignalView, type SonicView } from '../model/devices.ts';
import { isBatteryLow } from '../model/power.ts';
import { isAvailable, type Reach } from '../model/reach.ts';
import { valveStates } from '../model/records.ts';
import type { Movement } from '../model/valveCommand.ts';
import { knownWord } from '../model/words.ts';

type DeviceView = SignalView | SonicView;

/** Why a device is shown as available or not. `rejected`: the broker does not take one of its values. */
type Shown = Reach | 'rejected';

/** What is logged of a device when it changes. */
interface Noted {
  readonly reach: Shown;
  readonly isFaulty: boolean;
  readonly isLow: boolean;
  /** Undefined if it was not read. */
  readonly movement: Movement | null | undefined;
}

const rejected = 'the MQTT broker rejects one of its values';
const offlineCauses: Partial<Record<Shown, Partial<Record<DeviceView['kind'], string>>>> = {
  offline: { signal: 'it has no connection to the cloud', sonic: 'it has no connection to its hub' },
  hub_offline: { sonic: 'its hub is offline' },
  hub_unread: { sonic: 'its hub was not read' },
  rejected: { signal: rejected, sonic: rejected },
};

/** A device of an earlier run. What it was like then is no news. */
const unread: Noted = { reach: 'stale', isFaulty: false, isLow: false, movement: undefined };

const causes = {
  by_hand: 'by hand',
  automatic_shut_off: 'by the automatic shut-off',
  elsewhere: 'in the vendor’s app, or for an unknown reason',
} as const;

/** Above this, devices with the same news share one line. */
const maxAlike = 5;

/** Logs why a device is offline and when it is back, faults, low batteries, and valves that no command has moved. */
export class DeviceLog {
  readonly #log: Log;
  readonly #noted = new Map<string, Noted>();
  /** By text: the devices about which there is that news. */
  readonly #news = new Map<string, string[]>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Notes what is so of a device; `label` is its name in log lines. */
  note(view: DeviceView, label: string, isRejected = false): void {
    const { kind } = view;
    const id = kind === 'sonic' ? view.sonic.id : view.signal.id;
    const before = this.#noted.get(`${kind}/${id}`);
    const isSonic = kind === 'sonic';
    // What later lists lack is in the health, and after an outage it lasts a moment.
    const isMissed = view.reach === 'stale' || (view.reach === 'hub_unread' && before);
    const known = isMissed ? (before?.reach ?? 'up') : view.reach;
    const reach = isRejected && isOnline(known) ? 'rejected' : known;
    const now: Noted = {
      reach,
      isFaulty: isSonic && knownWord(valveStates, view.sonic.valve_state) === 'faulty',
      isLow: isSonic && isBatteryLow(view.sonic.battery) === true,
      movement: isSonic ? view.valveRecord.movement : null,
    };
    this.#noted.set(`${kind}/${id}`, now);
    const say = (text: string) => this.#say(kind, label, text);
    const cause = offlineCauses[reach]?.[kind];
    if (cause && before?.reach !== reach) say(`offline: ${cause}`);
    if (isOnline(reach) && before && !isOnline(before.reach)) say('online again');
    if (now.isFaulty && !before?.isFaulty) say('the cloud reports a fault of the valve');
    if (before?.isFaulty && !now.isFaulty) say('no fault any more');
    if (now.isLow && !before?.isLow) say('battery low');
    const { movement } = now;
    const isMoved = movement?.by !== before?.movement?.by || movement?.at !== before?.movement?.at;
    const by = movement?.by ?? null;
    if (before?.movement !== undefined && isMoved && by !== null && by !== 'command')
      say(`${movement?.valve === 'open' ? 'opened' : 'closed'} ${causes[by]}`);
  }

  /** Notes that a device of an earlier run is offline, and why this run has not read it. */
  noteUnread(kind: DeviceView['kind'], id: string, label: string, cause: string): void {
    const key = `${kind}/${id}`;
    if (this.#noted.has(key)) return;
    this.#noted.set(key, unread);
    this.#say(kind, label, `offline: ${cause}`);
  }

  forget(kind: string, id: string): void {
    this.#noted.delete(`${kind}/${id}`);
  }

  /** Writes the lines about everything that was noted since. */
  write(): void {
    for (const [text, names] of this.#news) {
      const isMany = names.length > maxAlike;
      const all = isMany ? [`${names.length} devices (${listNames(names)})`] : names;
      for (const name of all) this.#log.info(capitalised([name, text].join(': ')));
    }
    this.#news.clear();
  }

  #say(kind: DeviceView['kind'], label: string, text: string): void {
    this.#news.set(text, [...(this.#news.get(text) ?? []), `${kindLabels[kind]} ${label}`]);
  }
}

function isOnline(reach: Shown): boolean {
  return reach !== 'rejected' && isAvailable(reach);
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
