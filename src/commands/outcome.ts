import { EventEmitter } from 'node:events';
import type { Clock } from '../base/clock.ts';
import { errorMessage } from '../base/errorMessage.ts';
import type { Log } from '../base/log.ts';
import { repeatedLines } from '../base/repeatedLines.ts';
import type { Connection } from '../broker/connection.ts';
import type { Control } from '../cloud/catalogue.ts';
import type { CloudClient } from '../cloud/client.ts';
import { GivenUp } from '../cloud/deadline.ts';
import { CloudError } from '../cloud/errors.ts';
import type { Call } from '../cloud/operations.ts';
import type { Topics } from '../homeassistant/topics.ts';
import type { BridgeView, DeviceKind } from '../model/devices.ts';
import type { ValveAction } from '../model/valve.ts';
import type { Poller } from '../polling/poller.ts';
import type { StateFile } from '../state/stateFile.ts';
import type { Store } from '../store/store.ts';

/** How a command ended, as published on `bridge/event`. */
export interface Outcome {
  readonly topic: string;
  readonly status: 'ok' | 'error' | 'refused' | 'superseded';
  /** Null for `ok`. */
  readonly reason: string | null;
  /** Null if the cloud did not answer. */
  readonly http_status: number | null;
}

interface OutcomeEvents {
  /**
   * A command has ended. Each command has one outcome. If the valve did not follow, it has a second one,
   * `not_confirmed`.
   */
  outcome: [outcome: Outcome];
  /**
   * The state of a device must be published again, even if it has not changed. Either a command for it has failed, and
   * its sender may already show the requested state. Or a command has changed the log level, which the bridge shows.
   */
  showAgain: [kind: DeviceKind, id: string];
  /** The cloud has shown that it does not offer an operation. */
  offersChanged: [];
}

/** What commands work with. Each part of this room receives only the fields that it uses. */
export interface CommandParts {
  readonly topics: Topics;
  readonly control: Readonly<Record<Control, boolean>>;
  /** The topic at which Home Assistant publishes that it has started. */
  readonly statusTopic: string;
  readonly client: CloudClient;
  readonly connection: Connection;
  readonly store: Store;
  readonly poller: Pick<Poller, 'runNow' | 'readNewTest' | 'refresh'>;
  readonly state: Pick<StateFile, 'kept' | 'problem'>;
  /** The bridge as a device, with the entities that commands can set. */
  readonly bridge: { readonly view: BridgeView };
  readonly outcomes: Outcomes;
  /** How long a command may take, counted from when it was sent, in ms. It is never carried out later. */
  readonly requestTimeoutMs: number;
  /** How long a valve may take to show an accepted command, in ms. */
  readonly confirmTimeoutMs: number;
  readonly confirmIntervalMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

export const reasons = {
  retained:
    'the command was sent with the retain flag. Send it without retain, and clear the stored one (mosquitto_pub -r -n -t TOPIC)',
  unproven: 'the command may be an old one that the MQTT broker has stored. Send it again in 10 seconds',
  unmarked:
    'the command may be an old one, because the MQTT broker sends stored messages without the retain flag. Use another broker, for example Mosquitto',
  stopping: 'sonic2mqtt is stopping. The command was not sent',
  putOut: 'another sonic2mqtt uses this base topic. The command was not sent',
  unanswered: 'sonic2mqtt stopped before the cloud answered. The command may still be carried out',
} as const;

/** Ends every call in progress when the bridge stops. */
export const stopped = new GivenUp(reasons.unanswered, false);

/** Keeps the status of the cloud's last answer to a call; null if there was none. Pass `note` as `onAnswer`. */
export class AnswerStatus {
  status: number | null = null;
  readonly note = (status: number): void => {
    this.status = status;
  };
}

/** How valve commands can end. If the cloud accepts a command and the valve does not follow, the command ends twice. */
const valveOutcomes = ['ok', 'error', 'refused', 'superseded', 'not_confirmed'] as const;
type ValveOutcome = (typeof valveOutcomes)[number];

/** The valve commands of entities. `change_thing_state` is one too, but has none. */
export type ValveCall = Call<'command_valve' | 'command_wifi_valve'>;

// The cloud's error messages and the senders' values can have any length.
const maxReasonCharacters = 500;

export function reasonFor(error: unknown): string {
  const isUnsent = error instanceof CloudError && error.cause === stopped && !error.mayHaveActed;
  return shortenedReason(isUnsent ? reasons.stopping : errorMessage(error));
}

/** A reason cut to a length that fits into a message. */
export function shortenedReason(reason: string): string {
  return reason.length > maxReasonCharacters ? `${reason.slice(0, maxReasonCharacters)}…` : reason;
}

/** Records how commands end: counts valve commands, logs failures, and tells the rest of the bridge by events. */
export class Outcomes extends EventEmitter<OutcomeEvents> {
  readonly #topics: Topics;
  readonly #store: Store;
  readonly #log: Log;
  readonly #logRarely: ReturnType<typeof repeatedLines>;
  readonly #valveCounts: Record<ValveOutcome, number> = {
    ok: 0,
    error: 0,
    refused: 0,
    superseded: 0,
    not_confirmed: 0,
  };

  constructor(topics: Topics, store: Store, clock: Clock, log: Log) {
    super();
    this.#logRarely = repeatedLines(clock, log);
    this.#topics = topics;
    this.#store = store;
    this.#log = log;
  }

  get valveCounts(): Readonly<Record<ValveOutcome, number>> {
    return this.#valveCounts;
  }

  /** `action`: what a valve was to do, if that is known. */
  record(
    topic: string,
    status: Outcome['status'],
    reason: string | null,
    httpStatus: number | null,
    action: ValveAction | null = null,
  ): void {
    const operation = this.#topics.operationOf(topic);
    const target = this.#topics.parse(topic);
    if (target?.kind === 'sonic' && target.path === 'valve/set')
      this.#valveCounts[reason === 'not_confirmed' ? reason : status] += 1;
    const hasFailed = status === 'error' || status === 'refused';
    if (hasFailed) this.#logFailure(topic, status, reason, action);
    this.emit('outcome', { topic, status, reason, http_status: httpStatus });
    if (operation !== null || !target || target.kind === 'incident') return;
    const { kind, id, path } = target;
    // The valve has a record of its commands itself.
    if (kind !== 'bridge' && path !== 'valve/set' && status !== 'superseded')
      this.#store.recordChange(kind, id, hasFailed ? reason : null);
    if (!hasFailed) return;
    if (kind === 'bridge' || this.#store.isShown(kind, id)) this.emit('showAgain', kind, id);
  }

  #logFailure(
    topic: string,
    status: Outcome['status'],
    reason: string | null,
    action: ValveAction | null,
  ): void {
    // The valve queue has logged this already.
    if (reason === 'not_confirmed') return;
    const key = `${topic} ${action} ${status} ${reason}`;
    // The answer to a request already gives the reason.
    if (this.#topics.operationOf(topic) !== null) {
      this.#logRarely('debug', key, { topic, status }, `Request failed: ${reason}`);
      return;
    }
    const target = this.#topics.parse(topic);
    const isDevice = target && target.kind !== 'bridge' && target.kind !== 'incident';
    const what = action ? `to ${action}` : `${target?.path} for`;
    const name = isDevice ? `${what} ${this.#store.label(target.kind, target.id)}` : topic;
    const ending = status === 'refused' ? 'refused' : 'failed';
    const line = `Command ${name} ${ending}: ${reason}`;
    this.#logRarely('warn', key, { topic, device: target?.id }, line);
  }

  /**
   * Handles what a failed call means beyond its command. A bug of this program is logged. If the cloud does not offer
   * the operation, `offersChanged` is emitted.
   */
  noteFailure(topic: string, error: unknown): void {
    if (!(error instanceof CloudError))
      this.#log.error({ err: error }, `Internal error: the command ${topic} failed`);
    else if (error.kind === 'unsupported') this.emit('offersChanged');
  }
}
