import { type Backoff, backoffMs } from '../base/backoff.ts';
import { sleep } from '../base/clock.ts';
import { OutageLog } from '../base/outageLog.ts';
import type { BrokerMessage } from '../broker/message.ts';
import { CloudError, type CloudErrorKind } from '../cloud/errors.ts';
import type { Call } from '../cloud/operations.ts';
import {
  correctedPause,
  newPause,
  nextPhase,
  type Pause,
  type PauseEvent,
  type PausePhase,
  pauseLeftMs,
  pauseShown,
} from '../model/pause.ts';
import { mayArriveMs } from '../model/valveCommand.ts';
import { type MessageLimits, timeLeftMs } from './messageRules.ts';
import { AnswerStatus, type CommandParts, reasonFor, reasons } from './outcome.ts';
import { changedFields, failed, refused, succeeded, type UpdateResult, type Updates } from './updates.ts';

/*
 * Pauses the automatic shut-off of a property, and always turns it on again. `model/pause.ts` has the table of phases
 * and events. These are the guarantees, and the functions that keep them:
 *
 * 1. A pause is on disk before the request is sent to the cloud (`#pause`). If it cannot be written, there is no pause,
 *    because nothing could end it after a restart.
 * 2. The pause ends at the promised time or sooner. Both clocks are checked every ten seconds (`#look`), because timers
 *    stop while the machine sleeps.
 * 3. The pause ends only when a reading, requested after the shut-off was turned on, shows it on (`#tryToTurnOn`).
 *    Until then, the bridge tries again without limit, and reports this in the log, in health, and at the topic of the
 *    pause.
 * 4. The pause also ends if another client turns the shut-off on: by a command (`recordAccepted`), or in the
 *    app, which a reading shows (`#recordReading`). Even then the bridge turns it on itself, because a reading may be
 *    old. A reading that may have been requested before the shut-off was off proves nothing.
 * 5. Ending a pause is a duty of this bridge and needs no permission. `control.settings` does not matter, because it is
 *    for those who send commands, and neither does the filter. The bridge that has the pause on its disk ends
 *    it. A new disk gets the pause from the broker (`publishing/recovery.ts`).
 */

const lookEveryMs = 10_000;

/**
 * The waits before the next attempt to turn the shut-off on: after an outage, and after a refusal, which seldom
 * changes.
 */
const outageBackoff: Backoff = { firstMs: 5_000, longestMs: 60_000 };
const refusalBackoff: Backoff = { firstMs: 60_000, longestMs: 600_000 };
const refusals: readonly CloudErrorKind[] = ['forbidden', 'notFound', 'rejected', 'unsupported', 'invalid'];

/** A pause of this run or of an earlier one. Times are ms of the monotonic clock. */
interface Ongoing {
  phase: PausePhase;
  pause: Pause;
  /** From when on the request to turn the shut-off off cannot take effect any more. */
  settledAt: number;
  /** Whether the settings were read once when they could prove something. */
  isVerified: boolean;
  /** What became of the request to turn the shut-off on. `tried`: it was refused, or the cloud may have acted. */
  turnedOn: 'no' | 'tried' | 'accepted';
  attempt: Promise<UpdateResult> | null;
  failures: number;
  retryAt: number;
  reason: string | null;
  outage: OutageLog | null;
}

type PausesParts = MessageLimits &
  Pick<CommandParts, 'client' | 'store' | 'state' | 'otherBridges' | 'log'> & {
    readonly updates: Updates;
  };

export class Pauses {
  readonly #parts: PausesParts;
  readonly #startedAt: number;
  /** By property: its pause that has not ended for certain. */
  readonly #ongoing = new Map<string, Ongoing>();
  #cancelTimer: () => void = () => {};

  constructor(parts: PausesParts) {
    const { store, stopping, clock } = parts;
    this.#parts = parts;
    this.#startedAt = clock.monotonic();
    store.on('settingsRead', (id, { auto_shut_off: isOn }, sentAt) => this.#recordReading(id, isOn, sentAt));
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
    const { otherBridges, store, clock, log } = this.#parts;
    if (otherBridges.problem !== null) return refused(otherBridges.problem);
    if (this.#isEnding(id)) return refused(stillEnding);
    const answers = new AnswerStatus();
    let isOn: boolean | null;
    try {
      isOn = await this.#read(id, timeLeftMs(message.sentAfter, this.#parts) ?? 0, answers.note);
    } catch (error) {
      return failed(`${reasonFor(error)}. Nothing was changed`, answers.status);
    }
    // The reading may have ended the pause.
    if (this.#isEnding(id)) return refused(stillEnding);
    const before = this.#ongoing.get(id);
    if (!before && isOn === false) return refused('the automatic shut-off is off already');
    // During a pause it must be off. It may still be shown on for a moment.
    if (isOn !== (before === undefined)) return refused(notKnown);
    const pause = newPause(minutes, clock.now(), clock.monotonic());
    const each = before ?? this.#begin(id, pause, 'pausing');
    const isKept = await this.#keep(id, pause);
    if (isKept) {
      log.info(
        { device: id, topic: message.topic },
        `Pausing the automatic shut-off of ${store.label('property', id)} for ${minutes} min (MQTT command)`,
      );
    }
    if (!before) return this.#turnOff(message, id, isKept);
    if (this.#isEnding(id)) return refused(stillEnding);
    if (isKept) each.pause = pause;
    else this.#parts.state.kept.pauses.set(id, each.pause);
    this.#show(id, each);
    return isKept ? succeeded(answers.status) : refused(noMemory);
  }

  async #turnOff(message: BrokerMessage, id: string, isKept: boolean): Promise<UpdateResult> {
    const { updates, stopping } = this.#parts;
    const giveUp = (result: UpdateResult) => {
      this.#apply(id, 'rejected');
      return result;
    };
    if (!isKept) return giveUp(refused(noMemory));
    const timeoutMs = timeLeftMs(message.sentAfter, this.#parts);
    if (stopping.aborted) return giveUp(failed(reasons.stopping));
    if (timeoutMs === null)
      return giveUp(failed('timeout: earlier commands took too long. This one was not sent'));
    const answers = new AnswerStatus();
    try {
      await updates.send(message, settingCall(id, false), { timeoutMs, onAnswer: answers.note });
    } catch (error) {
      const reason = reasonFor(error);
      if (error instanceof CloudError && !error.mayHaveActed) return giveUp(failed(reason, answers.status));
      this.#apply(id, 'unanswered');
      const consequence = 'The automatic shut-off may be off. It is turned on again';
      return failed(`${reason}. ${consequence}`, answers.status);
    }
    this.#apply(id, 'accepted');
    return succeeded(answers.status);
  }

  /** Keeps the pause. Resolves to whether it is on disk, safe from a power cut. */
  async #keep(id: string, pause: Pause): Promise<boolean> {
    const { state } = this.#parts;
    await state.kept.pauses.set(id, pause).saved();
    return state.problem === null && state.kept.pauses.isSaved(id);
  }

  #isEnding(id: string): boolean {
    const phase = this.#ongoing.get(id)?.phase;
    return phase === 'resuming' || phase === 'failed';
  }

  /** Ends the pause. The command itself ends within its time, but the bridge goes on until the shut-off is on. */
  async #resume({ sentAfter }: BrokerMessage, id: string): Promise<UpdateResult> {
    const { stopping, clock } = this.#parts;
    const each = this.#ongoing.get(id);
    if (!each) return refused('the automatic shut-off is not paused');
    this.#apply(id, 'ended');
    const timeout = sleep(clock, timeLeftMs(sentAfter, this.#parts) ?? 0, stopping).then(
      () => failed('timeout: the cloud has not confirmed it yet'),
      () => failed(reasons.unanswered),
    );
    const result = await Promise.race([this.#turnOn(id, each), timeout]);
    if (result.status === 'ok') return result;
    return { ...result, reason: `${result.reason}. Trying again until the automatic shut-off is on` };
  }

  // ---- what happens -------------------------------------------------------------------------------------------

  #recordReading(id: string, isOn: boolean | null, sentAt: number): void {
    const each = this.#ongoing.get(id);
    if (!each || isOn !== true || sentAt < this.#provesFrom(each)) return;
    if (each.phase === 'paused' || each.turnedOn !== 'no') this.#apply(id, 'seen_on');
  }

  /**
   * Readings that were requested before this time prove nothing. While the shut-off is paused, the cloud may show the
   * state before the pause for a moment.
   */
  #provesFrom({ phase, settledAt }: Ongoing): number {
    return phase === 'paused' ? settledAt + this.#parts.requestTimeoutMs : settledAt;
  }

  /**
   * The cloud has accepted to turn the shut-off on, for another client or for this bridge. The pause ends, and the
   * bridge makes sure that the shut-off is on.
   */
  recordAccepted(call: Call): void {
    if (call.operation !== 'update_property_settings' || call.body.auto_shut_off !== true) return;
    const id = this.#parts.store.devices.property.idOf(call.params.property_id);
    const each = this.#ongoing.get(id);
    if (!each || each.phase === 'pausing') return;
    each.turnedOn = 'accepted';
    this.#apply(id, 'ended');
  }

  #apply(id: string, event: PauseEvent): void {
    const each = this.#ongoing.get(id);
    if (!each) return;
    const { store, state, requestTimeoutMs, clock, log } = this.#parts;
    const before = each.phase;
    each.phase = nextPhase(before, event);
    if (event === 'accepted') each.settledAt = clock.monotonic();
    // A request without an answer may still take effect until its time is over.
    if (event === 'unanswered') each.settledAt = clock.monotonic() + requestTimeoutMs;
    if (each.phase === 'resuming' && before !== 'resuming') {
      each.reason = null;
      each.pause = { ...each.pause, until: Math.min(each.pause.until, clock.now()), isOver: true };
      state.kept.pauses.set(id, each.pause);
      void this.#turnOn(id, each);
    }
    if (each.phase === 'none') {
      this.#ongoing.delete(id);
      state.kept.pauses.delete(id);
      const name = store.label('property', id);
      if (event === 'seen_on') log.info({ device: id }, `The automatic shut-off of ${name} is on again`);
      each.outage?.recovered();
    }
    this.#show(id, each);
  }

  #show(id: string, { phase, pause, reason }: Ongoing): void {
    this.#parts.store.showPause(id, pauseShown(phase, pause, reason));
  }

  // ---- time ---------------------------------------------------------------------------------------------------

  /** Checks the clocks: ends pauses whose time is over, and repeats failed attempts. */
  #look(): void {
    const { state, requestTimeoutMs, stopping, clock } = this.#parts;
    if (stopping.aborted) return;
    const now = clock.monotonic();
    // New pauses may appear here: a disk may become readable later, or the broker may have the pauses of a lost file. A
    // request of the earlier run may still take effect.
    for (const [id, pause] of state.kept.pauses) {
      if (this.#ongoing.has(id)) continue;
      const each = this.#begin(id, pause, pause.isOver ? 'resuming' : 'paused');
      // The request to turn it off was sent before the pause was over.
      const ageMs = Math.max(0, clock.now() - pause.until);
      each.settledAt = Math.max(now + requestTimeoutMs, this.#startedAt + mayArriveMs - ageMs);
      this.#show(id, each);
    }
    let waitMs = lookEveryMs;
    for (const [id, each] of this.#ongoing) {
      this.#correct(id, each);
      const leftMs = pauseLeftMs(each.pause, clock.now(), now);
      if (leftMs <= 0) this.#apply(id, 'due');
      else if (leftMs < waitMs) waitMs = leftMs;
      if (each.phase === 'paused' && !each.isVerified && now >= this.#provesFrom(each)) {
        each.isVerified = true;
        void this.#read(id, requestTimeoutMs).catch(() => {});
      }
      if (this.#isEnding(id) && now >= each.retryAt && each.attempt === null) void this.#turnOn(id, each);
    }
    this.#cancelTimer = clock.after(waitMs, () => this.#look());
  }

  #correct(id: string, each: Ongoing): void {
    const { state, clock } = this.#parts;
    const pause = correctedPause(each.pause, clock.now(), clock.monotonic());
    if (each.phase !== 'paused' || pause === each.pause) return;
    each.pause = pause;
    state.kept.pauses.set(id, pause);
    this.#show(id, each);
  }

  #begin(id: string, pause: Pause, phase: PausePhase): Ongoing {
    const each: Ongoing = {
      phase,
      pause,
      settledAt: Number.POSITIVE_INFINITY,
      isVerified: false,
      turnedOn: 'no',
      attempt: null,
      failures: 0,
      retryAt: Number.NEGATIVE_INFINITY,
      reason: null,
      outage: null,
    };
    this.#ongoing.set(id, each);
    return each;
  }

  // ---- turning it on ------------------------------------------------------------------------------------------

  /** Tries to turn the shut-off on, once at a time. Never rejects. */
  #turnOn(id: string, each: Ongoing): Promise<UpdateResult> {
    each.attempt ??= this.#tryToTurnOn(id, each).finally(() => {
      each.attempt = null;
    });
    return each.attempt;
  }

  async #tryToTurnOn(id: string, each: Ongoing): Promise<UpdateResult> {
    const { updates, stopping, requestTimeoutMs, clock } = this.#parts;
    const answers = new AnswerStatus();
    try {
      if (this.#isGone(id)) throw new Error('the property is no longer in the account');
      const timeoutMs = requestTimeoutMs;
      const onAnswer = answers.note;
      if (each.turnedOn !== 'accepted')
        await updates.send(null, settingCall(id, true), { timeoutMs, onAnswer });
      const unprovenMs = this.#provesFrom(each) - clock.monotonic();
      if (unprovenMs > 0) {
        this.#apply(id, 'turned_on');
        await sleep(clock, unprovenMs, stopping);
      }
      if (each.phase !== 'none') await this.#read(id, timeoutMs);
      if (each.phase !== 'none')
        throw new Error('the cloud accepted the change, but still reports it as off');
      return succeeded(answers.status);
    } catch (error) {
      // The shut-off may be on by now for another reason.
      if (each.phase === 'none') return succeeded(answers.status);
      if (!stopping.aborted) this.#recordFailure(id, each, error);
      return failed(reasonFor(error), answers.status);
    }
  }

  #recordFailure(id: string, each: Ongoing, error: unknown): void {
    const { store, clock, log } = this.#parts;
    const {
      kind = 'unavailable',
      key,
      retryAfterMs = 0,
      mayHaveActed = false,
    } = error instanceof CloudError ? error : {};
    const isRefusal = refusals.includes(kind);
    if (mayHaveActed || isRefusal || each.turnedOn !== 'no') each.turnedOn = 'tried';
    each.failures += 1;
    const backoff = isRefusal ? refusalBackoff : outageBackoff;
    const waitMs = Math.max(
      retryAfterMs,
      backoffMs(backoff, each.failures, () => 1),
    );
    each.retryAt = clock.monotonic() + waitMs;
    each.reason = reasonFor(error);
    each.outage ??= new OutageLog(clock, log, `Automatic shut-off of ${store.label('property', id)}`);
    each.outage.failed(`still off after a pause: ${each.reason}`, key ?? each.reason);
    this.#apply(id, 'not_confirmed');
  }

  /** Whether the account no longer has the property, according to a complete list of this run. */
  #isGone(id: string): boolean {
    const { store } = this.#parts;
    return store.isReadSince('property', this.#startedAt) && !store.has('property', id);
  }

  /** Reads whether the shut-off is on; null if the cloud does not say. */
  async #read(id: string, timeoutMs: number, onAnswer?: (status: number) => void): Promise<boolean | null> {
    const { client, store, stopping, clock } = this.#parts;
    const sentAt = clock.monotonic();
    const call = { operation: 'read_property_settings', params: { property_id: id } } as const;
    const options = {
      priority: 'command',
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

const noMemory =
  'data_dir cannot be written, so nothing could turn the automatic shut-off on again after a restart. Nothing was changed';
