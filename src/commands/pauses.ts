import { type Backoff, backoffMs } from '../base/backoff.ts';
import { sleep } from '../base/clock.ts';
import { type OutageLog, outageLog } from '../base/outageLog.ts';
import type { BrokerMessage } from '../broker/message.ts';
import { CloudError, type CloudErrorKind } from '../cloud/errors.ts';
import type { Call } from '../cloud/operations.ts';
import { correctedPause, newPause, type Pause, pauseLeftMs } from '../model/pause.ts';
import { mayArriveMs } from '../model/valveCommand.ts';
import { type MessageLimits, timeLeftMs } from './messageRules.ts';
import { AnswerStatus, type CommandParts, reasonFor, reasons } from './outcome.ts';
import {
  changedFields,
  failed,
  refused,
  resultOf,
  succeeded,
  type UpdateResult,
  type Updates,
} from './updates.ts';

/*
 * Pauses the automatic shut-off of a property, and always turns it on again. A pause in `kept.pauses` is a duty: until it
 * is over, the shut-off may be off, and then it must be seen on. These are the guarantees, and the functions that keep
 * them:
 *
 * 1. A pause is on disk before the request is sent to the cloud (`#pause`). If it cannot be written, there is no pause,
 *    because nothing could end it after a restart.
 * 2. The pause ends at the promised time or sooner. Both clocks are checked every ten seconds (`#look`), because timers
 *    stop while the machine sleeps.
 * 3. The pause ends only when a reading, requested after the shut-off was turned on, shows it on (`#tryToTurnOn`).
 *    Until then, the bridge tries again without limit, and reports this in the log, in health, and at the topic of the
 *    pause.
 * 4. The pause also ends if another client turns the shut-off on: by a command (`recordAccepted`), or in the
 *    app, which a reading shows (`#recordOn`). Even then the bridge turns it on itself, because a reading may be
 *    old. A reading that may have been requested before the shut-off was off proves nothing.
 * 5. Ending a pause is a duty of this bridge and needs no permission. `control.settings` does not matter, because it is
 *    for those who send commands, and neither does the filter. The bridge that has the pause on its disk ends
 *    it. A new disk gets the pause from the broker (`publishing/recovery.ts`).
 * 6. A bridge that another one has put out writes nothing to the cloud. It ends a pause once it is connected again, or a
 *    quarter of an hour late, because there may be no other bridge (`#look`).
 */

const lookEveryMs = 10_000;

/** How late a pause is ended by a bridge that stands still, in ms. Before that it has tried to connect again. */
const maxLateMs = 900_000;

/**
 * The waits before the next attempt to turn the shut-off on: after an outage, and after a refusal, which seldom
 * changes.
 */
const outageBackoff: Backoff = { firstMs: 5_000, longestMs: 60_000 };
const refusalBackoff: Backoff = { firstMs: 60_000, longestMs: 600_000 };
const refusals: readonly CloudErrorKind[] = ['forbidden', 'notFound', 'rejected', 'unsupported', 'invalid'];

/** What this run knows of a pause beside its record. Times are ms of the monotonic clock. */
interface Duty {
  /** From when on the request to turn the shut-off off cannot take effect any more. */
  settledAt: number;
  /** Whether the settings were read once when they could prove something. */
  isVerified: boolean;
  /** Whether the cloud has accepted to turn the shut-off on. */
  isAccepted: boolean;
  /** Whether the shut-off may be on because of a request: it was accepted or refused, or the cloud may have acted. */
  isTried: boolean;
  attempt: Promise<UpdateResult> | null;
  failures: number;
  retryAt: number;
  outage: OutageLog | null;
}

type PausesParts = MessageLimits &
  Pick<CommandParts, 'client' | 'connection' | 'store' | 'state' | 'log'> & {
    readonly updates: Updates;
  };

export class Pauses {
  readonly #parts: PausesParts;
  readonly #startedAt: number;
  /** By property. Each has its record in `kept.pauses`. */
  readonly #duties = new Map<string, Duty>();
  #cancelTimer: () => void = () => {};

  constructor(parts: PausesParts) {
    const { store, stopping, clock } = parts;
    this.#parts = parts;
    this.#startedAt = clock.monotonic();
    store.on('settingsRead', (id, { auto_shut_off: isOn }, sentAt) => {
      if (isOn) this.#recordOn(id, sentAt);
    });
    stopping.addEventListener('abort', () => this.#cancelTimer());
  }

  /** Continues the pauses of an earlier run, and starts to check the clocks. */
  start(): void {
    this.#look();
  }

  /**
   * Pauses the shut-off, or ends the pause if `minutes` is 0. Earlier commands to the property are carried out first.
   */
  handle(message: BrokerMessage, id: string, minutes: number): void {
    const { updates } = this.#parts;
    const { topic } = message;
    const record = `property/${id}`;
    if (minutes === 0)
      updates.enqueue(record, { topic, fields: 'resume', run: () => this.#resume(message, id) });
    else {
      // Its fields are those of a command that turns the shut-off on or off, so the later of the two replaces the
      // other.
      const fields = changedFields([settingCall(id, false)]);
      updates.enqueue(record, { topic, fields, run: () => this.#pause(message, id, minutes) });
    }
  }

  // ---- the commands -------------------------------------------------------------------------------------------

  async #pause(message: BrokerMessage, id: string, minutes: number): Promise<UpdateResult> {
    const { store, clock, log } = this.#parts;
    if (this.#record(id)?.isOver) return refused(stillEnding);
    const answers = new AnswerStatus();
    let isOn: boolean | null;
    try {
      isOn = await this.#read(id, timeLeftMs(message.sentAfter, this.#parts) ?? 0, answers.note);
    } catch (error) {
      const result = resultOf(error, answers.status);
      return { ...result, reason: `${result.reason}. Nothing was changed` };
    }
    const before = this.#record(id);
    // The reading may have ended the pause.
    if (before?.isOver) return refused(stillEnding);
    if (!before && isOn === false) return refused('the automatic shut-off is off already');
    // During a pause it must be off. It may still be shown on for a moment.
    if (isOn !== (before === undefined)) return refused(notKnown);
    const duty = this.#dutyOf(id) ?? this.#begin(id);
    const pause = newPause(minutes, clock.now(), clock.monotonic());
    const isKept = await this.#keep(id, { ...pause, isPending: before === undefined });
    // It may have ended while it was written.
    if (this.#duties.get(id) !== duty || this.#record(id)?.isOver) return refused(stillEnding);
    if (!isKept) {
      if (before) this.#change(id, before);
      else this.#forget(id);
      return refused(noMemory);
    }
    log.info(
      { device: id, topic: message.topic },
      `Pausing the automatic shut-off of ${store.label('property', id)} for ${minutes} min (MQTT command)`,
    );
    if (!before) return this.#turnOff(message, id, duty);
    store.showPause(id);
    return succeeded(answers.status);
  }

  async #turnOff(message: BrokerMessage, id: string, duty: Duty): Promise<UpdateResult> {
    const { updates, stopping, requestTimeoutMs, clock } = this.#parts;
    const giveUp = (result: UpdateResult) => {
      this.#forget(id);
      return result;
    };
    const timeoutMs = timeLeftMs(message.sentAfter, this.#parts);
    if (stopping.aborted) return giveUp(failed(reasons.stopping));
    if (timeoutMs === null)
      return giveUp(failed('timeout: earlier commands took too long. This one was not sent'));
    const answers = new AnswerStatus();
    try {
      await updates.send(message, settingCall(id, false), { timeoutMs, onAnswer: answers.note });
    } catch (error) {
      const reason = reasonFor(error);
      if (error instanceof CloudError && !error.mayHaveActed) return giveUp(resultOf(error, answers.status));
      // A failed command must not take effect later. The request may do so until its time is over.
      duty.settledAt = clock.monotonic() + requestTimeoutMs;
      this.#end(id, duty);
      const consequence = 'The automatic shut-off may be off. It is turned on again';
      return failed(`${reason}. ${consequence}`, answers.status);
    }
    duty.settledAt = clock.monotonic();
    this.#change(id, { isPending: false });
    return succeeded(answers.status);
  }

  /** Keeps the pause. Resolves to whether it is on disk, safe from a power cut. */
  async #keep(id: string, pause: Pause): Promise<boolean> {
    const { state } = this.#parts;
    await state.kept.pauses.set(id, pause).saved();
    return state.problem === null && state.kept.pauses.isSaved(id);
  }

  /** Ends the pause. The command itself ends within its time, but the bridge goes on until the shut-off is on. */
  async #resume({ sentAfter }: BrokerMessage, id: string): Promise<UpdateResult> {
    const { stopping, clock } = this.#parts;
    const duty = this.#dutyOf(id);
    if (!duty) return refused('the automatic shut-off is not paused');
    this.#end(id, duty);
    const timeout = sleep(clock, timeLeftMs(sentAfter, this.#parts) ?? 0, stopping).then(
      () => failed('timeout: the cloud has not confirmed it yet'),
      () => failed(reasons.unanswered),
    );
    const result = await Promise.race([this.#turnOn(id, duty), timeout]);
    if (result.status === 'ok') return (await this.#isEndKept(id)) ? result : failed(endNotKept);
    return { ...result, reason: `${result.reason}. Trying again until the automatic shut-off is on` };
  }

  /** Whether a restart would not continue a pause that has ended. */
  async #isEndKept(id: string): Promise<boolean> {
    const { pauses } = this.#parts.state.kept;
    const isKept = () => pauses.onDisk(id)?.isOver !== false || pauses.get(id)?.isOver === false;
    if (!isKept()) await pauses.saved();
    return isKept();
  }

  // ---- what happens -------------------------------------------------------------------------------------------

  /** A reading that was requested at that time has shown the shut-off as on. */
  #recordOn(id: string, sentAt: number): void {
    const duty = this.#dutyOf(id);
    if (!duty || sentAt < this.#provesFrom(id, duty)) return;
    if (!this.#record(id)?.isOver) this.#end(id, duty);
    else if (duty.isTried) {
      const { store, log } = this.#parts;
      log.info({ device: id }, `The automatic shut-off of ${store.label('property', id)} is on again`);
      duty.outage?.recovered();
      this.#forget(id);
    }
  }

  /**
   * Readings that were requested before this time prove nothing. While the shut-off is paused, the cloud may show the
   * state before the pause for a moment.
   */
  #provesFrom(id: string, { settledAt }: Duty): number {
    return this.#record(id)?.isOver ? settledAt : settledAt + this.#parts.requestTimeoutMs;
  }

  /**
   * If the cloud has accepted to turn the shut-off on, for another client or for this bridge, the pause ends, and the
   * bridge makes sure that the shut-off is on. Resolves to why that may not last; null if it does.
   */
  async recordAccepted(call: Call): Promise<string | null> {
    if (call.operation !== 'update_property_settings' || call.body.auto_shut_off !== true) return null;
    const id = this.#parts.store.devices.property.idOf(call.params.property_id);
    const duty = this.#dutyOf(id);
    if (duty && !this.#record(id)?.isPending) {
      [duty.isAccepted, duty.isTried] = [true, true];
      this.#end(id, duty);
    }
    return (await this.#isEndKept(id)) ? null : endNotKept;
  }

  /** Ends the pause, if it has not ended, and turns the shut-off on. */
  #end(id: string, duty: Duty): void {
    const { clock } = this.#parts;
    const pause = this.#record(id);
    if (!pause || pause.isOver) return;
    this.#change(id, { until: Math.min(pause.until, clock.now()), isPending: false, isOver: true });
    void this.#turnOn(id, duty);
  }

  #forget(id: string): void {
    const { store, state } = this.#parts;
    this.#duties.delete(id);
    state.kept.pauses.delete(id);
    store.showPause(id);
  }

  #record(id: string): Pause | undefined {
    return this.#parts.state.kept.pauses.get(id);
  }

  #change(id: string, change: Partial<Pause>): void {
    const { store, state } = this.#parts;
    const pause = this.#record(id);
    if (pause) state.kept.pauses.set(id, { ...pause, ...change });
    store.showPause(id);
  }

  // ---- time ---------------------------------------------------------------------------------------------------

  /** Checks the clocks: ends pauses whose time is over, and repeats failed attempts. */
  #look(): void {
    const { connection, state, requestTimeoutMs, stopping, clock } = this.#parts;
    if (stopping.aborted) return;
    const now = clock.monotonic();
    let waitMs = lookEveryMs;
    for (const [id, kept] of state.kept.pauses) {
      const duty = this.#dutyOf(id);
      if (!duty || kept.isPending) continue;
      const pause = correctedPause(kept, clock.now(), now);
      if (pause !== kept) this.#change(id, pause);
      const leftMs = pauseLeftMs(pause, clock.now(), now);
      if (connection.isStandingStill && leftMs > -maxLateMs) continue;
      if (leftMs <= 0) this.#end(id, duty);
      else if (leftMs < waitMs) waitMs = leftMs;
      const isOver = this.#record(id)?.isOver;
      if (!isOver && !duty.isVerified && now >= this.#provesFrom(id, duty)) {
        duty.isVerified = true;
        void this.#read(id, requestTimeoutMs).catch(() => {});
      }
      if (isOver && now >= duty.retryAt) void this.#turnOn(id, duty);
    }
    this.#cancelTimer = clock.after(waitMs, () => this.#look());
  }

  /** The duty of a pause; undefined if there is none. The pause may just have been found on the disk or the broker. */
  #dutyOf(id: string): Duty | undefined {
    const pause = this.#record(id);
    return this.#duties.get(id) ?? (pause && this.#resumeDuty(id, pause));
  }

  /**
   * Takes up a pause of an earlier run: a disk may become readable later, or the broker may have the pauses of a lost
   * file. The request to turn the shut-off off was sent before the pause was over, and may still take effect.
   */
  #resumeDuty(id: string, pause: Pause): Duty {
    const { store, requestTimeoutMs, clock } = this.#parts;
    const duty = this.#begin(id);
    const ageMs = Math.max(0, clock.now() - pause.until);
    duty.settledAt = Math.max(clock.monotonic() + requestTimeoutMs, this.#startedAt + mayArriveMs - ageMs);
    store.showPause(id);
    return duty;
  }

  #begin(id: string): Duty {
    const duty: Duty = {
      settledAt: Number.POSITIVE_INFINITY,
      isVerified: false,
      isAccepted: false,
      isTried: false,
      attempt: null,
      failures: 0,
      retryAt: Number.NEGATIVE_INFINITY,
      outage: null,
    };
    this.#duties.set(id, duty);
    return duty;
  }

  // ---- turning it on ------------------------------------------------------------------------------------------

  /** Tries to turn the shut-off on, once at a time. Never rejects. */
  #turnOn(id: string, duty: Duty): Promise<UpdateResult> {
    duty.attempt ??= this.#tryToTurnOn(id, duty).finally(() => {
      duty.attempt = null;
    });
    return duty.attempt;
  }

  async #tryToTurnOn(id: string, duty: Duty): Promise<UpdateResult> {
    const { updates, stopping, requestTimeoutMs: timeoutMs, clock } = this.#parts;
    const answers = new AnswerStatus();
    const isDone = () => this.#duties.get(id) !== duty;
    try {
      if (this.#isGone(id)) throw new Error('the property is no longer in the account');
      if (!duty.isAccepted)
        await updates.send(null, settingCall(id, true), { timeoutMs, onAnswer: answers.note });
      const unprovenMs = this.#provesFrom(id, duty) - clock.monotonic();
      if (unprovenMs > 0) {
        this.#change(id, { reason: null });
        await sleep(clock, unprovenMs, stopping);
      }
      if (!isDone()) await this.#read(id, timeoutMs);
      if (!isDone()) throw new Error('the cloud accepted the change, but still reports it as off');
      return succeeded(answers.status);
    } catch (error) {
      // The shut-off may be on by now for another reason.
      if (isDone()) return succeeded(answers.status);
      if (!stopping.aborted) this.#recordFailure(id, duty, error);
      return failed(reasonFor(error), answers.status);
    }
  }

  #recordFailure(id: string, duty: Duty, error: unknown): void {
    const { store, clock, log } = this.#parts;
    const {
      kind = 'unavailable',
      key,
      retryAfterMs = 0,
      mayHaveActed = false,
    } = error instanceof CloudError ? error : {};
    const isRefusal = refusals.includes(kind);
    duty.isTried ||= mayHaveActed || isRefusal;
    duty.isAccepted = false;
    duty.failures += 1;
    const wait = backoffMs(isRefusal ? refusalBackoff : outageBackoff, duty.failures, () => 1);
    duty.retryAt = clock.monotonic() + Math.max(retryAfterMs, wait);
    const reason = reasonFor(error);
    duty.outage ??= outageLog(clock, log, `Automatic shut-off of ${store.label('property', id)}`);
    duty.outage.failed(`still off after a pause: ${reason}`, key ?? reason);
    this.#change(id, { reason });
  }

  /** Whether the account no longer has the property, according to a complete list of this run. */
  #isGone(id: string): boolean {
    const { property } = this.#parts.store.devices;
    return property.isReadSince(this.#startedAt) && !property.has(id);
  }

  /** Reads whether the shut-off is on; null if the cloud does not say. */
  async #read(id: string, timeoutMs: number, onAnswer?: (status: number) => void): Promise<boolean | null> {
    const { client, store, stopping, clock } = this.#parts;
    const sentAt = clock.monotonic();
    const call = { operation: 'read_property_settings', params: { property_id: id } } as const;
    const options = {
      // Without a client, it is a duty of the bridge, which waits for no budget.
      priority: onAnswer ? 'command' : 'valve',
      signal: stopping,
      timeoutMs,
      ...(onAnswer && { onAnswer }),
    } as const;
    const settings = await client.call(call, options);
    store.setSettings(id, settings, sentAt);
    return settings.auto_shut_off;
  }
}

function settingCall(property_id: string, auto_shut_off: boolean): Call<'update_property_settings'> {
  return { operation: 'update_property_settings', params: { property_id }, body: { auto_shut_off } };
}

const stillEnding = 'the automatic shut-off is being turned on after a pause. Try again when it is on';

const notKnown = 'it is not known whether the automatic shut-off is on. Try again later';

const endNotKept =
  'the automatic shut-off is on, but data_dir cannot be written. If sonic2mqtt restarts before that works, it turns the automatic shut-off on once more';

const noMemory =
  'data_dir cannot be written, so nothing could turn the automatic shut-off on again after a restart. Nothing was changed';
