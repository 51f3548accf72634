import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { reasonOf } from '../base/reason.ts';
import type { Answered, CloudClient } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import { isPastSendWindow } from '../cloud/lateness.ts';
import { provablyNotExecuted } from '../cloud/retry.ts';
import { namesRecords } from '../polling/missingRoute.ts';
import type { Store } from '../store/store.ts';
import type { Confirmations } from './confirmations.ts';
import type { FollowUp } from './followUp.ts';
import { moveOf, type ValveCall } from './valveCall.ts';

export interface ValveLanesOptions {
  readonly client: CloudClient;
  readonly store: Store;
  /** What becomes of the valves that the cloud accepted to move. */
  readonly confirmations: Confirmations;
  readonly followUp: FollowUp;
  /** How long a command may wait before it is sent, in ms; it is never sent later. */
  readonly requestTimeoutMs: number;
  /** Ends what is under way; nothing is sent after that. */
  readonly signal: AbortSignal;
  /** The cloud may have taken a command of which nobody knows. */
  readonly doubtful: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** How a call for a valve ended, with the cloud's status code if it answered; the valve may still be on its way. */
export type ValveEnd = { readonly httpStatus: number | null } & (
  | { readonly status: 'ok'; readonly reason: null; readonly answer: Answered<ValveCall['operation']> }
  | { readonly status: 'superseded'; readonly reason: string }
  | { readonly status: 'error'; readonly reason: string; readonly error: unknown }
);

const superseded: ValveEnd = {
  status: 'superseded',
  reason: 'a newer command for this valve arrived',
  httpStatus: null,
};

/** A call for a valve, and who is told how it ended, once. */
export interface ValveErrand {
  /** Where it was asked for. */
  readonly topic: string;
  /** Its time starts then, in ms of the monotonic clock. */
  readonly sentAfter: number;
  readonly call: ValveCall;
  /** What came by the valve's own topic goes before requests of any number. */
  readonly priority: 'urgent' | 'command';
  readonly onEnd: (end: ValveEnd) => void;
}

/**
 * Moves valves. Commands to one valve run one at a time, the newest of those that wait wins, and each reaches the cloud
 * at most once: none is repeated here.
 */
export class ValveLanes {
  readonly #options: ValveLanesOptions;
  /** By sonic, while a command is being sent: the one that waits behind it, if any. */
  readonly #waiting = new Map<string, ValveErrand | null>();
  /** By sonic, while a command is being sent: aborts when a newer one waits, so that it is not sent any more. */
  readonly #sending = new Map<string, AbortController>();

  constructor(options: ValveLanesOptions) {
    this.#options = options;
  }

  /** Sends a good call when those for the same valve let it: one at a time, and the newest of those that wait. */
  move(errand: ValveErrand): void {
    const { store, log } = this.#options;
    const { id, wanted } = moveOf(errand.call);
    const { topic, call } = errand;
    log.info(
      { device: id, topic, operation: call.operation },
      `${wanted === 'open' ? 'Opening' : 'Closing'} valve ${store.label('sonic', id)} (MQTT command)`,
    );
    // A cloud may take two spellings of an id for one valve.
    const lane = id.toLowerCase();
    this.#waiting.get(lane)?.onEnd(superseded);
    this.#sending.get(lane)?.abort();
    const isBusy = this.#waiting.has(lane);
    this.#waiting.set(lane, errand);
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

  async #send(
    { topic, call, priority, onEnd, sentAfter }: ValveErrand,
    sendSignal: AbortSignal,
  ): Promise<void> {
    const { client, store, confirmations, followUp, clock, log } = this.#options;
    const { requestTimeoutMs, signal, doubtful } = this.#options;
    const { id, wanted } = moveOf(call);
    const timeoutMs = sentAfter + requestTimeoutMs - clock.monotonic();
    if (isPastSendWindow(timeoutMs, requestTimeoutMs)) {
      const words = 'timeout: the command before it took too long; it was not sent';
      const details = { timedOut: true, mayHaveActed: false };
      const error = new CloudError('unavailable', call.operation, words, details);
      onEnd({ status: 'error', reason: words, error, httpStatus: null });
      return;
    }
    const stateBefore = store.sonicView(id)?.sonic.valve_state ?? null;
    let httpStatus: number | null = null;
    const onAnswer = (status: number) => {
      httpStatus = status;
    };
    let answer: Answered<ValveCall['operation']>;
    try {
      const isOneOfMany = namesRecords(call);
      const options = { priority, signal, sendSignal, timeoutMs, onAnswer, isOneOfMany };
      answer = await client.callRaw(call, options);
    } catch (error) {
      // Not waited for: a newer command for the valve must not be.
      void followUp.failed(topic, call, error);
      // Were it not for a newer one, it would be sent yet, or again.
      const isOvertaken = sendSignal.aborted && error instanceof CloudError && provablyNotExecuted(error);
      if (isOvertaken) onEnd(superseded);
      else onEnd({ status: 'error', reason: reasonOf(error), error, httpStatus });
      const mayHaveActed = error instanceof CloudError && error.mayHaveActed;
      if (mayHaveActed && !signal.aborted) doubtful();
      return;
    }
    onEnd({ status: 'ok', reason: null, answer, httpStatus });
    log.info(
      { device: id, topic, operation: call.operation },
      `Valve ${store.label('sonic', id)}: ${wanted} command accepted by the cloud`,
    );
    confirmations.begin({ topic, call, stateBefore });
  }
}
