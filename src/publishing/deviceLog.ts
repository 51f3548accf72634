import { listNames } from '../base/listNames.ts';
import type { Log } from '../base/log.ts';
import { kindLabels, type SignalView, type SonicView } from '../model/devices.ts';
import { isBatteryLow } from '../model/power.ts';
import { isAvailable, type Reach } from '../model/reach.ts';
import { valveStates } from '../model/records.ts';
import type { Movement } from '../model/valveCommand.ts';
import { knownWord } from '../model/words.ts';

type DeviceView = SignalView | SonicView;

/** What is logged of a device when it changes. */
interface Noted {
  readonly reach: Reach;
  readonly isFaulty: boolean;
  readonly isLow: boolean;
  readonly movement: Movement | null;
}

const offlineCauses = {
  offline: { signal: 'it has no connection to the cloud', sonic: 'it has no connection to its hub' },
  hub_offline: { sonic: 'its hub is offline', signal: '' },
} as const;

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
  note(view: DeviceView, label: string): void {
    const { kind } = view;
    const id = kind === 'sonic' ? view.sonic.id : view.signal.id;
    const before = this.#noted.get(`${kind}/${id}`);
    const isSonic = kind === 'sonic';
    // What the lists lack is in the health, and after an outage it lasts a moment.
    const isUnread = view.reach === 'stale' || view.reach === 'hub_unread';
    const reach = isUnread ? (before?.reach ?? 'up') : view.reach;
    const now: Noted = {
      reach,
      isFaulty: isSonic && knownWord(valveStates, view.sonic.valve_state) === 'faulty',
      isLow: isSonic && isBatteryLow(view.sonic.battery) === true,
      movement: isSonic ? view.valveRecord.movement : null,
    };
    this.#noted.set(`${kind}/${id}`, now);
    const name = `${kindLabels[kind]} ${label}`;
    const say = (text: string) => this.#news.set(text, [...(this.#news.get(text) ?? []), name]);
    const isOffline = reach === 'offline' || reach === 'hub_offline';
    if (isOffline && before?.reach !== reach) say(`offline: ${offlineCauses[reach][kind]}`);
    if (!isOffline && before && !isAvailable(before.reach)) say('online again');
    if (now.isFaulty && !before?.isFaulty) say('the cloud reports a fault of the valve');
    if (before?.isFaulty && !now.isFaulty) say('no fault any more');
    if (now.isLow && !before?.isLow) say('battery low');
    const { movement } = now;
    const isMoved = movement?.by !== before?.movement?.by || movement?.at !== before?.movement?.at;
    const by = movement?.by ?? null;
    if (before && isMoved && by !== null && by !== 'command')
      say(`${movement?.valve === 'open' ? 'opened' : 'closed'} ${causes[by]}`);
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
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
