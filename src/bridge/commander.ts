import { type Clock, sleep } from '../base/clock.ts';
import { describeDuration } from '../base/duration.ts';
import type { Log } from '../base/log.ts';
import type { BrokerMessage } from '../broker/connection.ts';
import type { CloudClient } from '../cloud/client.ts';
import { GivenUp } from '../cloud/deadline.ts';
import { CloudError } from '../cloud/errors.ts';
import type { Call, Control } from '../cloud/operations.ts';
import type { BridgeOrder } from '../entities/row.ts';
import { isCommandPath, parseCommand } from '../homeassistant/command.ts';
import type { Topics } from '../homeassistant/topics.ts';
import type { BridgeView } from '../model/devices.ts';
import { settledValve, targetOf, type ValveAction } from '../model/valve.ts';
import type { Store } from './store.ts';

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
  readonly tell: (outcome: Outcome) => void;
}

/** The outcome of a command, as told on `bridge/event`. */
export interface Outcome {
  readonly topic: string;
  readonly status: 'ok' | 'error' | 'refused' | 'superseded';
  readonly reason: string | null;
  readonly http_status: number | null;
}

/** With less of its time left a command is not sent: given up at once, nobody would know what became of it. */
const leastShareOfTime = 0.1;

const retainedWords =
  'a retained command would be carried out again at each restart: send it without the retain flag, and delete the retained one with an empty retained message';

type ValveCall = Call<'command_valve'>;

interface Waiting {
  readonly topic: string;
  readonly call: ValveCall;
  readonly arrivedAt: number;
}

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
    const { kind, id, path } = target;
    const view = kind === 'bridge' ? this.#events.bridgeView() : this.#store.view(kind, id);
    if (!view) {
      const yet = this.#store.isWhole
        ? ''
        : ' as far as is known: the cloud could not be read completely yet';
      this.#end(topic, 'refused', `there is no ${kind} ${id.slice(0, 80)}${yet}`);
      return;
    }
    const parsed = parseCommand(view, path, payload, this.#options.control);
    if ('refusal' in parsed) this.#end(topic, 'refused', parsed.refusal);
    else if ('order' in parsed.order) {
      this.#events.carryOut(parsed.order);
      this.#end(topic, 'ok', null);
    } else if (parsed.order.operation === 'command_valve') this.#commandValve(topic, parsed.order);
    else this.#end(topic, 'refused', `${parsed.order.operation} is not a command`);
  }

  /** Sends nothing more. */
  stop(): void {
    const words = 'the bridge was stopped before the cloud answered; it may still be carried out';
    this.#stopping.abort(new GivenUp(words, false));
  }

  #commandValve(topic: string, call: ValveCall): void {
    const id = call.params.sonic_id;
    this.#log.info(`Asked by ${topic} to ${call.body.action} the valve of ${this.#store.label('sonic', id)}`);
    const ahead = this.#waiting.get(id);
    if (ahead) this.#end(ahead.topic, 'superseded', 'a newer command for this valve arrived');
    const isBusy = this.#waiting.has(id);
    this.#waiting.set(id, { topic, call, arrivedAt: this.#clock.monotonic() });
    if (!isBusy) void this.#drain(id);
  }

  async #drain(id: string): Promise<void> {
    for (let command = this.#waiting.get(id); command; command = this.#waiting.get(id)) {
      this.#waiting.set(id, null);
      await this.#send(id, command);
    }
    this.#waiting.delete(id);
  }

  async #send(id: string, { topic, call, arrivedAt }: Waiting): Promise<void> {
    const timeoutMs = arrivedAt + this.#options.requestTimeoutMs - this.#clock.monotonic();
    if (timeoutMs < this.#options.requestTimeoutMs * leastShareOfTime) {
      this.#end(topic, 'error', 'timeout: the command before it took too long; it was not sent');
      return;
    }
    const { action } = call.body;
    const stateBefore = this.#store.sonicView(id)?.sonic.valve_state ?? null;
    let status: number | null = null;
    const onAnswer = (answered: number) => {
      status = answered;
    };
    try {
      await this.#client.call(call, { signal: this.#stopping.signal, timeoutMs, onAnswer });
    } catch (error) {
      if (!(error instanceof CloudError)) this.#log.error({ err: error }, `${topic} went wrong`);
      this.#end(topic, 'error', error instanceof Error ? error.message : String(error), status);
      return;
    }
    this.#end(topic, 'ok', null, status);
    this.#log.info(`The cloud accepted to ${action} the valve of ${this.#store.label('sonic', id)}`);
    this.#store.noteAccepted(id, { action, stateBefore });
    this.#watches.get(id)?.abort();
    const watch = new AbortController();
    this.#watches.set(id, watch);
    void this.#confirm(topic, id, action, stateBefore, watch.signal).finally(() => {
      if (this.#watches.get(id) === watch) this.#watches.delete(id);
    });
  }

  /** Reads the sonic until it is where it was sent; the cloud is asked, never told again. */
  async #confirm(
    topic: string,
    id: string,
    action: ValveAction,
    stateBefore: string | null,
    newer: AbortSignal,
  ): Promise<void> {
    const startedAt = this.#clock.monotonic();
    const signal = AbortSignal.any([newer, this.#stopping.signal]);
    const { confirmTimeoutMs, confirmIntervalMs, requestTimeoutMs } = this.#options;
    const until = startedAt + confirmTimeoutMs;
    while (this.#clock.monotonic() < until) {
      try {
        const waitMs = Math.min(confirmIntervalMs, until - this.#clock.monotonic());
        await sleep(this.#clock, Math.max(1, waitMs), signal);
        const readAt = this.#clock.monotonic();
        // The last one is given its time too.
        const leftMs = Math.max(until - readAt, confirmIntervalMs);
        const sonic = await this.#client.call(
          { operation: 'read_sonic', params: { sonic_id: id } },
          { priority: 'command', signal, timeoutMs: Math.min(requestTimeoutMs, leftMs) },
        );
        if (signal.aborted) return;
        this.#store.setSonic(sonic, readAt);
      } catch (error) {
        if (signal.aborted) return;
        this.#log.debug(`Reading sonic ${id} to confirm a command: ${String(error)}`);
      }
      if (settledValve(this.#store.sonicView(id)?.sonic.valve_state ?? null) === targetOf[action]) {
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
