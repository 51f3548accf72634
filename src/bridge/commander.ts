import { type Clock, sleep } from '../base/clock.ts';
import { describeDuration } from '../base/duration.ts';
import type { Log } from '../base/log.ts';
import type { BrokerMessage } from '../broker/connection.ts';
import type { Control } from '../cloud/catalogue.ts';
import type { CloudClient } from '../cloud/client.ts';
import { GivenUp } from '../cloud/deadline.ts';
import { CloudError } from '../cloud/errors.ts';
import type { Call } from '../cloud/operations.ts';
import type { BridgeOrder } from '../entities/row.ts';
import {
  isCommandPath,
  type ParsedCommand,
  parseCommand,
  parseIncidentCommand,
} from '../homeassistant/command.ts';
import type { Target, Topics } from '../homeassistant/topics.ts';
import type { BridgeView } from '../model/devices.ts';
import { settledValve, targetOf, type ValveAction } from '../model/valve.ts';
import { type ChangeEnd, type ChangeErrand, isChange } from './changes.ts';
import { isTooLate } from './lateness.ts';
import type { Store } from './store.ts';
import { moveOf, type ValveCall } from './valveCall.ts';

export interface CommanderOptions {
  /** How long an accepted command may take to show, in ms. */
  readonly confirmTimeoutMs: number;
  readonly confirmIntervalMs: number;
  /** How long a command may wait before it is sent, in ms; it is never sent later. */
  readonly requestTimeoutMs: number;
  readonly topics: Topics;
  readonly control: Readonly<Record<Control, boolean>>;
}

/** What the commander needs of the bridge around it. */
export interface CommanderEvents {
  readonly bridgeView: () => BridgeView;
  readonly carryOut: (order: BridgeOrder) => void;
  /** Changes that move no valve. */
  readonly change: (errand: ChangeErrand) => void;
  readonly tell: (outcome: Outcome) => void;
}

/** The outcome of a command, as told on `bridge/event`. */
export interface Outcome {
  readonly topic: string;
  readonly status: 'ok' | 'error' | 'refused' | 'superseded';
  readonly reason: string | null;
  readonly http_status: number | null;
}

/** Why a command with the retain flag is refused. */
export const retainedWords =
  'a retained command would be carried out again at each restart: send it without the retain flag, and delete the retained one with an empty retained message';

/** How a call for a valve ended; the valve may still be on its way. */
export type CommandEnd =
  | { readonly status: 'ok'; readonly reply: unknown; readonly httpStatus: number | null }
  | { readonly status: 'superseded'; readonly reason: string }
  | { readonly status: 'error'; readonly error: unknown; readonly httpStatus: number | null };

/** A call for a valve, and who is told how it ended, once. */
export interface ValveErrand {
  /** Where it was asked for. */
  readonly topic: string;
  readonly call: ValveCall;
  readonly onEnd: (end: CommandEnd) => void;
}

interface Waiting extends ValveErrand {
  readonly arrivedAt: number;
}

type SonicReading = Call<'read_sonic' | 'read_wifi_sonic'>;

/**
 * Runs the operations that change something. Commands to one valve run one at a time, the newest of those that wait
 * wins, and each reaches the cloud at most once: this class never repeats a call.
 */
export class Commander {
  readonly #client: CloudClient;
  readonly #store: Store;
  readonly #options: CommanderOptions;
  readonly #events: CommanderEvents;
  readonly #clock: Clock;
  readonly #log: Log;
  /** By sonic, while a command is being sent: the one that waits behind it, if any. */
  readonly #waiting = new Map<string, Waiting | null>();
  /** By sonic, while an accepted command is awaited; a newer one takes its place. */
  readonly #watches = new Map<string, AbortController>();
  readonly #stopping = new AbortController();

  constructor(
    client: CloudClient,
    store: Store,
    options: CommanderOptions,
    events: CommanderEvents,
    clock: Clock,
    log: Log,
  ) {
    this.#client = client;
    this.#store = store;
    this.#options = options;
    this.#events = events;
    this.#clock = clock;
    this.#log = log;
  }

  /** Takes a message; if it is a command, its outcome is told in any case. */
  take({ topic, payload, isRetained }: BrokerMessage): void {
    const target = this.#options.topics.parse(topic);
    if (!target || !isCommandPath(target.kind, target.path)) return;
    if (isRetained) {
      if (payload !== '') this.#end(topic, 'refused', retainedWords);
      return;
    }
    const parsed = this.#understand(target, payload);
    if ('refusal' in parsed) {
      this.#end(topic, 'refused', parsed.refusal);
      return;
    }
    const { order } = parsed;
    if ('order' in order) {
      this.#events.carryOut(order);
      this.#end(topic, 'ok', null);
    } else if ('operation' in order && order.operation === 'command_valve') {
      this.moveValve({ topic, call: order, onEnd: (end) => this.#endValve(topic, end) });
    } else {
      const calls = [order].flat();
      const onEnd: ChangeEnd = (...end) => this.#end(topic, ...end);
      if (calls.every(isChange))
        this.#events.change({ topic, target: `${target.kind}/${target.id}`, calls, onEnd });
      else
        this.#end(topic, 'refused', `${calls.map(({ operation }) => operation).join(', ')} is not a command`);
    }
  }

  #understand({ kind, id, path }: Target, payload: string): ParsedCommand {
    const { control } = this.#options;
    if (kind === 'incident') {
      const incident = this.#store.incident(id);
      return incident ? parseIncidentCommand(incident, payload, control) : this.#nothing('open incident', id);
    }
    const view = kind === 'bridge' ? this.#events.bridgeView() : this.#store.view(kind, id);
    return view ? parseCommand(view, path, payload, control) : this.#nothing(kind, id);
  }

  #nothing(what: string, id: string): ParsedCommand {
    const yet = this.#store.isWhole ? '' : ' as far as is known: the cloud could not be read completely yet';
    return { refusal: `there is no ${what} ${id.slice(0, 80)}${yet}` };
  }

  /** Sends nothing more. */
  stop(): void {
    const words = 'the bridge was stopped before the cloud answered; it may still be carried out';
    this.#stopping.abort(new GivenUp(words, false));
  }

  /** Sends a good call when those for the same valve let it: one at a time, and the newest of those that wait. */
  moveValve(errand: ValveErrand): void {
    const { id, wanted } = moveOf(errand.call);
    this.#log.info(`Asked by ${errand.topic} to ${wanted} the valve of ${this.#store.label('sonic', id)}`);
    const ahead = this.#waiting.get(id);
    ahead?.onEnd({ status: 'superseded', reason: 'a newer command for this valve arrived' });
    const isBusy = this.#waiting.has(id);
    this.#waiting.set(id, { ...errand, arrivedAt: this.#clock.monotonic() });
    if (!isBusy) void this.#drain(id);
  }

  async #drain(id: string): Promise<void> {
    for (let command = this.#waiting.get(id); command; command = this.#waiting.get(id)) {
      this.#waiting.set(id, null);
      await this.#send(id, command);
    }
    this.#waiting.delete(id);
  }

  async #send(id: string, { topic, call, onEnd, arrivedAt }: Waiting): Promise<void> {
    const timeoutMs = arrivedAt + this.#options.requestTimeoutMs - this.#clock.monotonic();
    if (isTooLate(timeoutMs, this.#options.requestTimeoutMs)) {
      const words = 'timeout: the command before it took too long; it was not sent';
      const details = { timedOut: true, mayHaveActed: false };
      const error = new CloudError('unavailable', call.operation, words, details);
      onEnd({ status: 'error', error, httpStatus: null });
      return;
    }
    const stateBefore = this.#store.sonicView(id)?.sonic.valve_state ?? null;
    let status: number | null = null;
    const onAnswer = (answered: number) => {
      status = answered;
    };
    let reply: unknown;
    try {
      // That a thing which nobody knows is not found does not speak of the route.
      const isOneOfMany = call.operation === 'change_thing_state' && !this.#store.sonicView(id);
      const { signal } = this.#stopping;
      reply = await this.#client.call(call, { signal, timeoutMs, onAnswer, isOneOfMany });
    } catch (error) {
      onEnd({ status: 'error', error, httpStatus: status });
      return;
    }
    onEnd({ status: 'ok', reply, httpStatus: status });
    const { action, wanted } = moveOf(call);
    this.#log.info(`The cloud accepted to ${wanted} the valve of ${this.#store.label('sonic', id)}`);
    const reading = this.#readingOf(call);
    if (action === null || reading === null) return;
    this.#store.noteAccepted(id, { action, stateBefore });
    this.#watches.get(id)?.abort();
    const watch = new AbortController();
    this.#watches.set(id, watch);
    void this.#confirm(topic, reading, action, stateBefore, watch.signal).finally(() => {
      if (this.#watches.get(id) === watch) this.#watches.delete(id);
    });
  }

  /** How to see what came of it; null for a thing of which nobody knows that it is a sonic. */
  #readingOf(call: ValveCall): SonicReading | null {
    const { id: sonic_id } = moveOf(call);
    if (call.operation === 'command_wifi_valve')
      return { operation: 'read_wifi_sonic', params: { sonic_id } };
    if (call.operation === 'change_thing_state' && !this.#store.sonicView(sonic_id)) return null;
    return { operation: 'read_sonic', params: { sonic_id } };
  }

  /** Reads the sonic until it is where it was sent; the cloud is asked, never told again. */
  async #confirm(
    topic: string,
    reading: SonicReading,
    action: ValveAction,
    stateBefore: string | null,
    newer: AbortSignal,
  ): Promise<void> {
    const { sonic_id: id } = reading.params;
    const startedAt = this.#clock.monotonic();
    const signal = AbortSignal.any([newer, this.#stopping.signal]);
    const { confirmTimeoutMs, confirmIntervalMs, requestTimeoutMs } = this.#options;
    const until = startedAt + confirmTimeoutMs;
    while (this.#clock.monotonic() < until) {
      // A sonic that is not shown, as those that the filters hide are not, has only this.
      let stateRead: string | null = null;
      try {
        const waitMs = Math.min(confirmIntervalMs, until - this.#clock.monotonic());
        await sleep(this.#clock, Math.max(1, waitMs), signal);
        const readAt = this.#clock.monotonic();
        // The last one is given its time too.
        const leftMs = Math.max(until - readAt, confirmIntervalMs);
        const sonic = await this.#client.call(reading, {
          priority: 'command',
          signal,
          timeoutMs: Math.min(requestTimeoutMs, leftMs),
        });
        if (signal.aborted) return;
        this.#store.setSonic(sonic, readAt);
        stateRead = sonic.valve_state;
      } catch (error) {
        if (signal.aborted) return;
        this.#log.debug(`Reading sonic ${id} to confirm a command: ${String(error)}`);
      }
      const view = this.#store.sonicView(id);
      if (settledValve(view ? view.sonic.valve_state : stateRead) === targetOf[action]) {
        const tookMs = this.#clock.monotonic() - startedAt;
        if (settledValve(stateBefore) !== targetOf[action]) {
          this.#store.noteTravelTime(id, Math.round(tookMs / 100) / 10);
        }
        this.#store.forgetAccepted(id);
        this.#log.info(
          `The valve of ${this.#store.label('sonic', id)} is ${targetOf[action]} after ${describeDuration(tookMs)}`,
        );
        return;
      }
    }
    this.#store.forgetAccepted(id);
    this.#end(topic, 'error', 'not_confirmed');
  }

  /** The end of a valve command that came by its own topic. */
  #endValve(topic: string, end: CommandEnd): void {
    if (end.status === 'ok') this.#end(topic, 'ok', null, end.httpStatus);
    else if (end.status === 'superseded') this.#end(topic, 'superseded', end.reason);
    else {
      const { error, httpStatus } = end;
      if (!(error instanceof CloudError)) this.#log.error({ err: error }, `${topic} went wrong`);
      this.#end(topic, 'error', error instanceof Error ? error.message : String(error), httpStatus);
    }
  }

  #end(
    topic: string,
    status: Outcome['status'],
    reason: string | null,
    httpStatus: number | null = null,
  ): void {
    if (status === 'error' || status === 'refused') this.#log.warn(`${topic}: ${status}: ${reason}`);
    this.#events.tell({ topic, status, reason, http_status: httpStatus });
  }
}
