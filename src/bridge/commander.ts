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
import type { PlannedKind } from './dirty.ts';
import { isTooLate } from './lateness.ts';
import { isAboutRecords } from './missingRoute.ts';
import { payloadFlaw } from './payloadFlaw.ts';
import type { Store } from './store.ts';
import { isValveCall, moveOf, type ValveCall } from './valveCall.ts';

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
  /** The cloud was found not to offer an operation. */
  readonly offersChanged: () => void;
  /** Looks into a 404, should it be one: says whether the operation was given up for it; never rejects. */
  readonly lookIntoMissing: (call: Call, error: unknown) => Promise<boolean>;
  /** The cloud accepted to move a valve. */
  readonly accepted: (sonicId: string) => void;
  /** The cloud may have taken a command of which nobody knows. */
  readonly doubtful: (sonicId: string) => void;
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

/** Why an empty command is refused where it may only delete a retained one. */
const doubtfulWords =
  'the broker keeps so many retained commands that an empty message may only delete one: delete them all, or send another word';

/** Why a command that comes during the stop is refused. */
export const stoppedWords = 'the bridge is stopping: it was not sent';

/** How a call for a valve ended; the valve may still be on its way. */
export type CommandEnd =
  | { readonly status: 'ok'; readonly reply: unknown; readonly httpStatus: number | null }
  | { readonly status: 'superseded'; readonly reason: string }
  | { readonly status: 'error'; readonly error: unknown; readonly httpStatus: number | null };

const superseded: CommandEnd = {
  status: 'superseded',
  reason: 'a newer command for this valve arrived',
};

/** A call for a valve, and who is told how it ended, once. */
export interface ValveErrand {
  /** Where it was asked for. */
  readonly topic: string;
  readonly call: ValveCall;
  /** What came by the valve's own topic goes before requests of any number. */
  readonly priority: 'urgent' | 'command';
  readonly onEnd: (end: CommandEnd) => void;
}

/** More are not remembered, so that nobody fills the memory with them. */
const mostKept = 1_000;

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
  /** By sonic, while a command is being sent: aborts when a newer one waits, so that it is not sent any more. */
  readonly #sending = new Map<string, AbortController>();
  /**
   * By sonic, while an accepted command is awaited; a newer one takes its place. Aborted by hand at the stop, as
   * AbortSignal.any leaves something behind on a signal that lives as long as this.
   */
  readonly #watches = new Map<string, AbortController>();
  /** Topics at which the broker keeps a command that was refused. */
  readonly #kept = new Set<string>();
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

  /** To be called before each connection's messages: the broker tells anew what it keeps, and may have lost it. */
  forgetKept(): void {
    this.#kept.clear();
  }

  /** Takes a message; if it is a command, its outcome is told in any case. */
  take(message: BrokerMessage): void {
    const { topic, payload, isRetained } = message;
    const target = this.#options.topics.parse(topic);
    if (!target || !isCommandPath(target.kind, target.path)) return;
    if (target.kind !== 'bridge' && !this.#isAnswerable(target.kind, target.id)) {
      this.#log.debug(`${topic} is for another bridge`);
      return;
    }
    // Without MQTT 5 the empty message that deletes a retained command does not look like one.
    if (payload === '' && (this.#kept.delete(topic) || isRetained)) return;
    if (isRetained) {
      if (this.#kept.size < mostKept) this.#kept.add(topic);
      this.#end(topic, 'refused', retainedWords);
      return;
    }
    const isDoubtful = payload === '' && this.#kept.size >= mostKept;
    const words = isDoubtful ? doubtfulWords : payloadFlaw(message);
    const flaw = this.#stopping.signal.aborted ? stoppedWords : words;
    if (flaw !== null) {
      this.#end(topic, 'refused', flaw);
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
    } else if ('operation' in order && isValveCall(order)) {
      const onEnd = (end: CommandEnd) => this.#endValve(topic, end);
      this.moveValve({ topic, call: order, priority: 'urgent', onEnd });
    } else {
      const calls = [order].flat();
      const onEnd: ChangeEnd = (...end) => this.#end(topic, ...end);
      if (calls.every(isChange))
        this.#events.change({ topic, target: `${target.kind}/${target.id}`, calls, onEnd });
      else
        this.#end(topic, 'refused', `${calls.map(({ operation }) => operation).join(', ')} is not a command`);
    }
  }

  /** Several bridges hear of each command: one of them answers. */
  #isAnswerable(kind: PlannedKind, id: string): boolean {
    const isShown = kind === 'incident' ? this.#store.incident(id) : this.#store.view(kind, id);
    return isShown !== null || this.#store.answersFor(kind, id);
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
    const yet = this.#store.isCertain
      ? ''
      : ' as far as is known: the cloud could not be read completely yet';
    return { refusal: `there is no ${what} ${id.slice(0, 80)}${yet}` };
  }

  /** Sends nothing more. */
  stop(): void {
    const words = 'the bridge was stopped before the cloud answered; it may still be carried out';
    this.#stopping.abort(new GivenUp(words, false));
    for (const watch of this.#watches.values()) watch.abort();
  }

  /** Sends a good call when those for the same valve let it: one at a time, and the newest of those that wait. */
  moveValve(errand: ValveErrand): void {
    const { id, wanted } = moveOf(errand.call);
    this.#log.info(`Asked by ${errand.topic} to ${wanted} the valve of ${this.#store.label('sonic', id)}`);
    // A cloud may take two spellings of an id for one valve.
    const lane = id.toLowerCase();
    this.#waiting.get(lane)?.onEnd(superseded);
    this.#sending.get(lane)?.abort();
    const isBusy = this.#waiting.has(lane);
    this.#waiting.set(lane, { ...errand, arrivedAt: this.#clock.monotonic() });
    if (!isBusy) void this.#drain(lane);
  }

  async #drain(lane: string): Promise<void> {
    for (let command = this.#waiting.get(lane); command; command = this.#waiting.get(lane)) {
      this.#waiting.set(lane, null);
      const sending = new AbortController();
      this.#sending.set(lane, sending);
      await this.#send(command, sending.signal);
    }
    this.#waiting.delete(lane);
    this.#sending.delete(lane);
  }

  async #send({ topic, call, priority, onEnd, arrivedAt }: Waiting, sendSignal: AbortSignal): Promise<void> {
    const { id } = moveOf(call);
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
      const { signal } = this.#stopping;
      const isOneOfMany = isAboutRecords(call);
      const options = { priority, signal, sendSignal, timeoutMs, onAnswer, isOneOfMany };
      reply = await this.#client.call(call, options);
    } catch (error) {
      // Not waited for: a newer command for the valve must not be.
      void this.#events.lookIntoMissing(call, error);
      if (sendSignal.aborted && isUnsent(error)) onEnd(superseded);
      else onEnd({ status: 'error', error, httpStatus: status });
      const mayHaveActed = error instanceof CloudError && error.mayHaveActed;
      if (mayHaveActed && !this.#stopping.signal.aborted) this.#events.doubtful(id);
      return;
    }
    onEnd({ status: 'ok', reply, httpStatus: status });
    const { action, wanted } = moveOf(call);
    this.#log.info(`The cloud accepted to ${wanted} the valve of ${this.#store.label('sonic', id)}`);
    const reading = this.#readingOf(call);
    if (action === null || reading === null) return;
    this.#store.noteAccepted(id, action, this.#clock.monotonic());
    this.#events.accepted(id);
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
    const isKnown = this.#store.sonicView(sonic_id) !== null;
    if (call.operation === 'change_thing_state' && !isKnown) return null;
    // One that is shown is read as it is listed, whichever way it was told.
    const isWifi = isKnown ? this.#store.isWifi(sonic_id) : call.operation === 'command_wifi_valve';
    return { operation: isWifi ? 'read_wifi_sonic' : 'read_sonic', params: { sonic_id } };
  }

  /** Reads the sonic until it is where it was sent; the cloud is asked, never told again. */
  async #confirm(
    topic: string,
    reading: SonicReading,
    action: ValveAction,
    stateBefore: string | null,
    signal: AbortSignal,
  ): Promise<void> {
    const { sonic_id: id } = reading.params;
    const startedAt = this.#clock.monotonic();
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
          // A sonic that was taken away does not speak of the route.
          isOneOfMany: true,
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
      // A list may have brought it; what was read before the command tells nothing of it.
      const isRead = (this.#store.sonicReadAt(id) ?? startedAt) >= startedAt;
      if (isRead && settledValve(view ? view.sonic.valve_state : stateRead) === targetOf[action]) {
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
      if (error instanceof CloudError && error.kind === 'unsupported') this.#events.offersChanged();
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

/** Whether it would be sent yet, or again, were it not for a newer one. */
function isUnsent(error: unknown): boolean {
  if (!(error instanceof CloudError) || error.mayHaveActed) return false;
  return error.kind === 'unavailable' || error.kind === 'rateLimited';
}
