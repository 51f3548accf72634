import { type Clock, sleep } from '../base/clock.ts';
import { describeDuration } from '../base/duration.ts';
import type { Log } from '../base/log.ts';
import type { CloudClient } from '../cloud/client.ts';
import type { Call } from '../cloud/operations.ts';
import { settledValve, targetOf, type ValveAction } from '../model/valve.ts';
import type { Store } from '../store/store.ts';
import type { Outcome } from './outcome.ts';
import { moveOf, type ValveCall } from './valveCall.ts';

/** The times of commands, in ms. */
export interface CommandTimes {
  /** How long a command may take from when it was sent; it is never carried out later. */
  readonly requestTimeoutMs: number;
  /** How long an accepted command may take to show. */
  readonly confirmTimeoutMs: number;
  readonly confirmIntervalMs: number;
}

export interface ConfirmationsOptions extends CommandTimes {
  readonly client: CloudClient;
  readonly store: Store;
  /** Told of a valve that did not follow. */
  readonly tell: (outcome: Outcome) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** A command that the cloud accepted. */
interface Accepted {
  /** Where it was asked for. */
  readonly topic: string;
  readonly call: ValveCall;
  /** What the cloud said of the valve before the command was sent. */
  readonly stateBefore: string | null;
}

type SonicReading = Call<'read_sonic' | 'read_wifi_sonic'>;

/** Watches the valves that the cloud accepted to move until they are there; the cloud is asked, never told again. */
export class Confirmations {
  readonly #options: ConfirmationsOptions;
  /**
   * By sonic, while an accepted command is awaited; a newer one takes its place. Aborted by hand at the stop, as
   * AbortSignal.any leaves something behind on a signal that lives as long as this.
   */
  readonly #watches = new Map<string, AbortController>();

  constructor(options: ConfirmationsOptions) {
    this.#options = options;
  }

  /** Awaits what a command asked for, where anybody can see it. */
  begin(command: Accepted): void {
    const { store, clock } = this.#options;
    const { id, action } = moveOf(command.call);
    const reading = readingOf(command.call, store);
    if (action === null || reading === null) return;
    store.noteAccepted(id, action, clock.monotonic());
    this.#watches.get(id)?.abort();
    const watch = new AbortController();
    this.#watches.set(id, watch);
    void this.#confirm(command, reading, action, watch.signal).finally(() => {
      if (this.#watches.get(id) === watch) this.#watches.delete(id);
    });
  }

  /** Watches no more. */
  stop(): void {
    for (const watch of this.#watches.values()) watch.abort();
  }

  /** Reads the sonic until it is where it was sent. */
  async #confirm(
    { topic, stateBefore }: Accepted,
    reading: SonicReading,
    action: ValveAction,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, store, clock, log, tell } = this.#options;
    const { confirmTimeoutMs, confirmIntervalMs, requestTimeoutMs } = this.#options;
    const { sonic_id: id } = reading.params;
    const startedAt = clock.monotonic();
    const until = startedAt + confirmTimeoutMs;
    while (clock.monotonic() < until) {
      // A sonic that is not shown, as those that the filters hide are not, has only this.
      let stateRead: string | null = null;
      try {
        const waitMs = Math.min(confirmIntervalMs, until - clock.monotonic());
        await sleep(clock, Math.max(1, waitMs), signal);
        const readAt = clock.monotonic();
        // The last one is given its time too.
        const leftMs = Math.max(until - readAt, confirmIntervalMs);
        const sonic = await client.call(reading, {
          priority: 'command',
          signal,
          // A sonic that was taken away does not speak of the route.
          isOneOfMany: true,
          timeoutMs: Math.min(requestTimeoutMs, leftMs),
        });
        if (signal.aborted) return;
        store.setSonic(sonic, readAt);
        // What is said of another tells nothing of this one; some clouds take two spellings of an id for one.
        if (sonic.id.toLowerCase() === id.toLowerCase()) stateRead = sonic.valve_state;
      } catch (error) {
        if (signal.aborted) return;
        log.debug({ device: id }, `Reading the valve to confirm a command: ${String(error)}`);
      }
      const view = store.sonicView(id);
      // A list may have brought it; what was read before the command tells nothing of it.
      const isRead = (store.sonicReadAt(id) ?? startedAt) >= startedAt;
      if (isRead && settledValve(view ? view.sonic.valve_state : stateRead) === targetOf[action]) {
        const tookMs = clock.monotonic() - startedAt;
        if (settledValve(stateBefore) !== targetOf[action]) {
          store.noteTravelTime(id, Math.round(tookMs / 100) / 10);
        }
        store.forgetAccepted(id);
        log.info(
          { device: id, topic },
          `Valve ${store.label('sonic', id)}: ${targetOf[action]} after ${describeDuration(tookMs)}`,
        );
        return;
      }
    }
    store.forgetAccepted(id);
    tell({ topic, status: 'error', reason: 'not_confirmed', http_status: null });
  }
}

/** How to see what came of a command; null for a thing of which nobody knows that it is a sonic. */
function readingOf(call: ValveCall, store: Store): SonicReading | null {
  const { id: sonic_id } = moveOf(call);
  const isKnown = store.sonicView(sonic_id) !== null;
  if (call.operation === 'change_thing_state' && !isKnown) return null;
  // One that is shown is read as it is listed, whichever way it was told.
  const isWifi = isKnown ? store.isWifi(sonic_id) : call.operation === 'command_wifi_valve';
  return { operation: isWifi ? 'read_wifi_sonic' : 'read_sonic', params: { sonic_id } };
}
