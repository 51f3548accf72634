import { setMaxListeners } from 'node:events';
import { type Clock, sleep } from '../base/clock.ts';
import { describeDuration } from '../base/duration.ts';
import type { BrokerMessage } from '../broker/message.ts';
import type { Answered } from '../cloud/client.ts';
import { GivenUp } from '../cloud/deadline.ts';
import { CloudError } from '../cloud/errors.ts';
import type { Call, OperationName } from '../cloud/operations.ts';
import type { CallOptions } from '../cloud/requestPipeline.ts';
import { provablyNotExecuted } from '../cloud/retry.ts';
import { IdMap, isSameId } from '../model/ids.ts';
import { settledValve, targetOf, type ValveAction } from '../model/valve.ts';
import type { AskedCommand, CommandStatus } from '../model/valveCommand.ts';
import type { CommandEnding } from '../store/valveRecords.ts';
import { type MessageLimits, messageProblem, timeLeftMs } from './messageRules.ts';
import { AnswerStatus, type CommandParts, reasonFor, reasons, type ValveCall } from './outcome.ts';

/*
 * Moves valves. These are all guarantees about valves, and the functions that keep them:
 *
 * 1. The bridge moves a valve only for a message. The column `moves` of `cloud/catalogue.ts` says what may move one.
 *    The client writes no such call without the `mayMove` of its sender (`#gate` in `cloud/requestPipeline.ts`), which
 *    only `#call` below gives, and `sonic2mqtt call` for what a person has typed. `move` sends valve commands. Only the
 *    router calls it, with the message at `sonic/{id}/valve/set` that asked for it. `sendOther` sends pressure tests, and
 *    actions of incidents that may move a valve. Only `updates.ts` calls it, each time with a message. Of these, a request
 *    may only be such an action (`requests.ts`).
 * 2. A retained message is refused. The router calls `messageProblem` before it reads any message, and `move` calls it
 *    again. A message that the broker may have stored is refused too, even without the retain flag
 *    (`broker/storedMessages.ts`). A message that the broker delivers twice on one connection is dropped on arrival
 *    (`broker/mqttSession.ts`).
 * 3. A bridge that another one has put out receives no message until it is connected again (`broker/connection.ts`).
 *    It does not send what it has received before (`mayMove` in `#call`).
 * 4. An old message is not carried out. Its time is `cloud.request_timeout`. It starts with the last ping that the
 *    broker answered before the message (`broker/pings.ts`). It is measured by a clock that goes on while the machine
 *    sleeps (`base/clock.ts`). It is checked when the message comes (`messageProblem`) and when its turn comes
 *    (`#send`).
 * 5. Everything is checked once more when the connection is open and the first byte is about to be written (`#gate` in
 *    `cloud/requestPipeline.ts`): a tenth of the time must be left, and neither a newer command nor a stop may have
 *    ended the command. If this check fails, nothing is written. Until then, a command counts as not sent. The same
 *    time also ends the request. If one sign-in was needed, its time does not count.
 * 6. Commands to one valve run one at a time, and the newest wins. A command that waits, is still connecting, or was
 *    certainly not carried out gives way at once and ends as `superseded`. A command that was sent but not answered is
 *    given up after a quarter of the newer command's time, and ends as an error (`#overtake`). Pressure tests and
 *    actions of incidents that may move a valve wait in other queues. They too give way to each command that came after
 *    their message, until they are sent (`sendOther`).
 * 7. A command is sent once. Nothing here repeats it. The client repeats it only if the cloud provably did not act
 *    (`provablyNotExecuted` in `cloud/retry.ts`), within the same time, and only if no newer command has come.
 * 8. A command that was given up is not delivered later, because its connection is reset (`cloud/http.ts`). A stop ends
 *    everything in progress, and waiting commands are not sent.
 * 9. A success status only means that the cloud accepted the command. From then on the valve is shown as `opening` or
 *    `closing` and is read again and again, until the cloud shows another state. If the valve does not get there within
 *    `valve.confirm_timeout`, the command ends a second time, as `not_confirmed`. The valve is also read after a failed
 *    command that the cloud may have carried out (`#follow`).
 * 10. A valve is opened at most once a second, and the newest command waits for that (`#restMs`). It is closed at once.
 *     Only a CLOSE that the cloud has received within the last second is not repeated before that second is over.
 * 11. Each command has exactly one outcome (`#end`); `not_confirmed` comes in addition.
 */

/** How a command ended. After `ok` the valve may still be moving. */
type ValveResult =
  | { readonly status: 'ok'; readonly httpStatus: number | null }
  | { readonly status: 'refused' | 'superseded'; readonly reason: string }
  | { readonly status: 'error'; readonly httpStatus: number | null; readonly error: unknown };

/** A call that may move a valve, from its message until its answer. */
interface Mover {
  /** The valve; null if it is not known. */
  readonly id: string | null;
  /** Ends the call in any phase. */
  readonly giveUp: AbortController;
  /** Whether the cloud may have received the call: it has passed the gate and has no answer yet. */
  isInFlight: boolean;
  /** Whether a newer command for the valve has come. Then this call is no longer sent. */
  isOvertaken: boolean;
}

interface ValveCommand extends Mover {
  readonly message: BrokerMessage;
  readonly call: ValveCall;
  readonly id: string;
  /** The command in the form of the valve's records. */
  readonly asked: AskedCommand;
  /** Cancels the timer that would send this command, or give it up for a newer one. */
  cancelTimer: () => void;
}

type SonicReading = Call<'read_sonic' | 'read_wifi_sonic'>;

/** The same command is sent to a valve once in this many ms. */
const minBetweenMs = 1_000;

const neverSent = { open: Number.NEGATIVE_INFINITY, close: Number.NEGATIVE_INFINITY };

/** The reason why a call is not sent after another bridge has put this one out. */
const putOut = new GivenUp(reasons.putOut, false);

/** The reason why a call that is not sent gives way. */
const gaveWay = new GivenUp('a newer command for this valve arrived', false);

const superseded = { status: 'superseded', reason: gaveWay.message } as const;

const overtaken = new GivenUp(
  'no answer before a newer command for this valve. The cloud may still carry it out',
  false,
);

/**
 * As many moving valves are read one by one, or as a page of the list shows. If there are more, the list is read for all
 * of them.
 */
const readSingly = 4;
const valvesOnPage = 10;

/** A command that was sent but not answered is given up after this share of a newer command's time. */
const shareOfNewer = 0.25;

export type ValveQueueParts = MessageLimits &
  Pick<
    CommandParts,
    | 'client'
    | 'connection'
    | 'store'
    | 'poller'
    | 'outcomes'
    | 'confirmTimeoutMs'
    | 'confirmIntervalMs'
    | 'log'
  >;

/**
 * Moves valves. Each valve has one command at a time, which is sent once, within its time, and confirmed by reading the
 * valve.
 */
export class ValveQueue {
  readonly #parts: ValveQueueParts;
  // By valve: the command that is being sent, the command that waits behind it, and the command whose effect is being
  // read.
  readonly #sending = new IdMap<ValveCommand>();
  readonly #waiting = new IdMap<ValveCommand>();
  readonly #following = new IdMap<ValveCommand>();
  /** By valve: when it was last told to open, and to close since then, in ms of the monotonic clock. */
  readonly #sentAt = new IdMap<Readonly<Record<ValveAction, number>>>();
  /** The pressure tests and actions of incidents that are on their way. */
  readonly #others = new Set<Mover>();
  /** By message: how many had come before it. */
  readonly #order = new WeakMap<BrokerMessage, number>();
  #arrivals = 0;
  /** The place in that order of the newest command for each valve, and for any. */
  readonly #newestOf = new IdMap<number>();
  #newest = -1;
  #listReading: Promise<void> | null = null;

  constructor(parts: ValveQueueParts) {
    this.#parts = parts;
    const { stopping, store, poller, log } = parts;
    // One listener for each valve that is being read.
    setMaxListeners(0, stopping);
    store.on('undone', (id) => {
      const is = store.valves.of(id).movement?.valve === 'open' ? 'opened' : 'closed';
      log.warn(
        { device: id },
        `Valve ${store.label('sonic', id)} ${is} against the newest command. A command from before the restart may have arrived late. Look at the valve`,
      );
      void poller.runNow('sonics');
    });
    stopping.addEventListener('abort', () => {
      for (const { id } of this.#waiting.values()) if (!this.#sending.has(id)) void this.#drain(id);
    });
  }

  /** Notes the place of each message in the order of their arrival, before anything waits. */
  noteArrival(message: BrokerMessage): void {
    this.#order.set(message, this.#arrivals);
    this.#arrivals += 1;
  }

  /** Queues the valve command of a message, sends it, and records the outcome. */
  move(message: BrokerMessage, call: ValveCall): void {
    const id = call.params.sonic_id;
    const giveUp = new AbortController();
    const state = { isInFlight: false, isOvertaken: false, cancelTimer: () => {} };
    const asked = askedBy(message, call.body.action, this.#parts.clock);
    this.#enqueue({ message, call, id, asked, giveUp, ...state });
  }

  /**
   * Sends another call of a message that may move this valve, or an unknown one if it is null. If a valve command has
   * come after the message, or comes before the call is sent, the call gives way (`isSuperseded`).
   */
  async sendOther(
    message: BrokerMessage,
    call: Call,
    id: string | null,
    options: Pick<CallOptions, 'timeoutMs' | 'onAnswer'>,
  ): Promise<Answered<OperationName>> {
    const newest = id === null ? this.#newest : (this.#newestOf.get(id) ?? -1);
    const isOvertaken = newest > (this.#order.get(message) ?? this.#arrivals);
    const mover = { id, giveUp: new AbortController(), isInFlight: false, isOvertaken };
    if (isOvertaken) giveWay(mover);
    this.#others.add(mover);
    try {
      return await this.#call(mover, call, { ...options, priority: 'command' });
    } finally {
      this.#others.delete(mover);
    }
  }

  /** Records a command that was refused before it came here. It is the newest command of its valve all the same. */
  noteRefused(message: BrokerMessage, id: string, action: ValveAction | null, reason: string): void {
    // A message that the broker may have stored is not a current command, and comes again with each connection.
    if (message.isRetained || message.mayBeStored) return;
    const { store, clock } = this.#parts;
    store.valves.recordCommand(id, askedBy(message, action, clock), 'refused', reason);
  }

  #enqueue(command: ValveCommand): void {
    const { message, id } = command;
    const reason = messageProblem(message, this.#parts)?.reason ?? null;
    if (reason !== null) {
      this.#end(command, { status: 'refused', reason });
      return;
    }
    this.#note(command, 'sent', null);
    this.#newest = this.#order.get(message) ?? this.#arrivals;
    this.#newestOf.set(id, this.#newest);
    for (const other of this.#others) {
      if (other.id !== null && !isSameId(other.id, id)) continue;
      other.isOvertaken = true;
      if (!other.isInFlight) giveWay(other);
    }
    const before = this.#waiting.get(id);
    this.#waiting.set(id, command);
    if (before) {
      before.cancelTimer();
      this.#end(before, superseded);
    }
    const sending = this.#sending.get(id);
    if (sending) this.#overtake(sending, command);
    else void this.#drain(id);
  }

  /** Ends a command early enough for a newer one: at once, or after a share of the newer one's time. */
  #overtake(older: ValveCommand, { message }: ValveCommand): void {
    if (older.isOvertaken) return;
    older.isOvertaken = true;
    const leftMs = timeLeftMs(message.sentAfter, this.#parts) ?? 0;
    if (older.isInFlight)
      older.cancelTimer = this.#parts.clock.after(shareOfNewer * leftMs, () => giveWay(older));
    else giveWay(older);
  }

  async #drain(valve: string): Promise<void> {
    for (let next = this.#waiting.get(valve); next; next = this.#waiting.get(valve)) {
      const waitMs = this.#restMs(next);
      if (waitMs > 0) {
        next.cancelTimer = this.#parts.clock.after(waitMs, () => void this.#drain(valve));
        return;
      }
      this.#waiting.delete(valve);
      this.#sending.set(valve, next);
      await this.#send(next);
      next.cancelTimer();
      this.#sending.delete(valve);
    }
  }

  /**
   * How long a command must wait so that the valve is not moved in the same way twice in a second, in ms. A valve is
   * closed at once, unless the cloud was told to close it within the last second, and not to open it since.
   */
  #restMs({ id, call }: ValveCommand): number {
    const { stopping, clock } = this.#parts;
    if (stopping.aborted) return 0;
    return (this.#sentAt.get(id) ?? neverSent)[call.body.action] + minBetweenMs - clock.monotonic();
  }

  /** Sends a command whose turn has come. Resolves as soon as the next command may be sent. */
  async #send(command: ValveCommand): Promise<void> {
    const { store, outcomes, stopping, log } = this.#parts;
    const { message, call, id } = command;
    const { topic } = message;
    const timeoutMs = timeLeftMs(message.sentAfter, this.#parts);
    if (stopping.aborted || timeoutMs === null) {
      const words = stopping.aborted
        ? reasons.stopping
        : 'timeout: the previous command took too long. This one was not sent';
      const details = { timedOut: !stopping.aborted, mayHaveActed: false };
      const error = new CloudError('unavailable', call.operation, words, details);
      this.#end(command, { status: 'error', httpStatus: null, error });
      return;
    }
    log.info({ device: id, topic, operation: call.operation }, logLineOf(call, store.label('sonic', id)));
    const stateBefore = store.sonicView(id)?.sonic.valve_state ?? null;
    const answers = new AnswerStatus();
    const options = { priority: 'valve', timeoutMs, onAnswer: answers.note } as const;
    try {
      await this.#call(command, call, options, () => this.#noteSent(command));
    } catch (error) {
      outcomes.noteFailure(topic, error);
      // Without the newer command, this one would have been sent, or sent again.
      const hasGivenWay = command.isOvertaken && error instanceof CloudError && provablyNotExecuted(error);
      this.#end(command, hasGivenWay ? superseded : { status: 'error', httpStatus: answers.status, error });
      if (mayHaveActed(error)) void this.#follow(command, stateBefore, false);
      return;
    }
    store.valves.recordAccepted(id, command.asked, this.#confirmUntil());
    this.#end(command, { status: 'ok', httpStatus: answers.status });
    log.info(
      { device: id, topic, operation: call.operation },
      `Valve ${store.label('sonic', id)}: ${call.body.action} command accepted by the cloud`,
    );
    void this.#follow(command, stateBefore, true);
  }

  /** Asks the cloud to move a valve. `onSent` is called each time when the call is written. */
  #call(
    mover: Mover,
    call: Call,
    options: CallOptions,
    onSent?: () => void,
  ): Promise<Answered<OperationName>> {
    const { client, connection, stopping } = this.#parts;
    return client.callRaw(call, {
      ...options,
      signal: AbortSignal.any([stopping, mover.giveUp.signal]),
      mayMove: () => {
        if (connection.isStandingStill) mover.giveUp.abort(putOut);
        return !mover.isOvertaken && !stopping.aborted;
      },
      onFlight: (isInFlight) => {
        mover.isInFlight = isInFlight;
        if (isInFlight) onSent?.();
        // The client must not send it again.
        else if (mover.isOvertaken) giveWay(mover);
      },
    });
  }

  #noteSent({ id, asked, call }: ValveCommand): void {
    const { store, clock } = this.#parts;
    store.valves.recordSent(id, asked);
    const { action } = call.body;
    const before = action === 'close' ? this.#sentAt.get(id) : null;
    this.#sentAt.set(id, { ...neverSent, ...before, [action]: clock.monotonic() });
  }

  /**
   * Reads the sonic until its valve has followed the command, its time is over, or the valve is read for a newer
   * command. Only a command that the cloud has accepted can end as `not_confirmed`.
   */
  async #follow(command: ValveCommand, stateBefore: string | null, isAccepted: boolean): Promise<void> {
    const { client, store, poller, outcomes, stopping, clock, log } = this.#parts;
    const { confirmTimeoutMs, confirmIntervalMs, requestTimeoutMs } = this.#parts;
    const { message, call, id } = command;
    const { topic } = message;
    const { action } = call.body;
    const reading = readingOf(call);
    if (stopping.aborted) return;
    if (!isAccepted) void poller.runNow('sonics');
    // The valve is already being read for another command.
    if (!isAccepted && this.#following.has(id)) return;
    const isOver = () => stopping.aborted || this.#following.get(id) !== command;
    const sentAt = clock.monotonic();
    const until = sentAt + confirmTimeoutMs;
    this.#following.set(id, command);
    while (clock.monotonic() < until) {
      // The state that is read here. It is needed if a filter hides the sonic, because then the store does not show it.
      let stateRead: string | null = null;
      try {
        await sleep(clock, Math.max(1, Math.min(confirmIntervalMs, until - clock.monotonic())), stopping);
        if (isOver()) return;
        if (this.#isListShorter(id)) this.#readList();
        else {
          const readAt = clock.monotonic();
          // The last read gets a whole interval, even if less time is left.
          const leftMs = Math.max(until - readAt, confirmIntervalMs);
          const timeoutMs = Math.min(requestTimeoutMs, leftMs);
          const sonic = await client.call(reading, { priority: 'list', signal: stopping, timeoutMs });
          store.setSonic(sonic, readAt);
          // The cloud may answer with another valve, or with another spelling of the id.
          if (isSameId(sonic.id, id)) stateRead = sonic.valve_state;
        }
      } catch (error) {
        log.debug({ device: id }, `Reading the valve to confirm a command: ${String(error)}`);
      }
      if (isOver()) return;
      const view = store.sonicView(id);
      // A poll may have read the new state already. A state that was read before the command confirms nothing.
      const isRead = (store.devices.sonic.readAt(id) ?? sentAt) >= sentAt;
      if (isRead && settledValve(view ? view.sonic.valve_state : stateRead) === targetOf[action]) {
        const tookMs = clock.monotonic() - sentAt;
        this.#following.delete(id);
        // If the machine slept, it is not known how long the valve took.
        const isTimed = tookMs <= confirmTimeoutMs + confirmIntervalMs;
        const hasMoved = isAccepted && settledValve(stateBefore) !== targetOf[action];
        const travelTimeS = Math.round(tookMs / 100) / 10;
        this.#note(command, 'confirmed', null, hasMoved && isTimed ? { travelTimeS } : {});
        if (!isAccepted) return;
        log.info(
          { device: id, topic },
          `Valve ${store.label('sonic', id)}: ${targetOf[action]} after ${describeDuration(tookMs)}`,
        );
        return;
      }
    }
    this.#following.delete(id);
    if (!isAccepted) return;
    // If the valve could not be read at the end, it may have moved meanwhile.
    const readAgoMs = clock.monotonic() - (store.devices.sonic.readAt(id) ?? 0);
    const unreadMs = Math.min(readAgoMs, confirmTimeoutMs);
    const isUnread = unreadMs >= Math.min(confirmTimeoutMs, requestTimeoutMs + confirmIntervalMs);
    const [unread, waited] = [unreadMs, confirmTimeoutMs].map(describeDuration);
    const valve = store.label('sonic', id);
    log.warn(
      { device: id, topic },
      isUnread
        ? `Valve ${valve} could not be read for ${unread} after a command to ${action} it. Look at it`
        : `Valve ${valve} did not ${action} within ${waited}. Look at it, then check its power and its connection`,
    );
    const reason = isUnread ? `the valve could not be read for ${unread}` : `not confirmed within ${waited}`;
    this.#note(command, 'not_confirmed', reason, { waitedMs: isUnread ? null : confirmTimeoutMs });
    outcomes.record(topic, 'error', 'not_confirmed', null);
  }

  /** Whether reading the list takes fewer requests than reading each valve that moves. A hidden valve is not in it. */
  #isListShorter(id: string): boolean {
    const { store } = this.#parts;
    if (this.#following.size <= readSingly || !store.isShown('sonic', id)) return false;
    return this.#following.size > store.counts().sonics / valvesOnPage;
  }

  /** Reads the list of valves once for all commands that wait for it. */
  #readList(): void {
    this.#listReading ??= this.#parts.poller.runNow('sonics').finally(() => {
      this.#listReading = null;
    });
  }

  #confirmUntil(): number {
    return this.#parts.clock.monotonic() + this.#parts.confirmTimeoutMs;
  }

  #note({ id, asked }: ValveCommand, status: CommandStatus, reason: string | null, ending?: CommandEnding) {
    this.#parts.store.valves.recordCommand(id, asked, status, reason, ending);
  }

  #end(command: ValveCommand, result: ValveResult): void {
    const { topic } = command.message;
    const { action } = command.asked;
    const { outcomes } = this.#parts;
    if (result.status === 'error') {
      const { error } = result;
      const movesUntil = mayHaveActed(error) ? this.#confirmUntil() : null;
      this.#note(command, 'error', reasonFor(error), { movesUntil });
    } else if (result.status !== 'ok') this.#note(command, result.status, result.reason);
    if (result.status === 'ok') outcomes.record(topic, 'ok', null, result.httpStatus);
    else if (result.status !== 'error') outcomes.record(topic, result.status, result.reason, null, action);
    else outcomes.record(topic, 'error', reasonFor(result.error), result.httpStatus, action);
  }
}

function giveWay({ giveUp, isInFlight }: Mover): void {
  giveUp.abort(isInFlight ? overtaken : gaveWay);
}

/** Whether a call was not sent because a newer command for the valve has come. */
export function isSuperseded(error: unknown): boolean {
  return error instanceof CloudError && error.cause === gaveWay;
}

/** Whether the cloud may have accepted the command all the same. */
function mayHaveActed(error: unknown): boolean {
  return !(error instanceof CloudError) || error.mayHaveActed;
}

function askedBy({ topic }: BrokerMessage, action: ValveAction | null, clock: Clock): AskedCommand {
  return { action, topic, askedAt: new Date(clock.now()).toISOString() };
}

function logLineOf({ body }: ValveCall, valve: string): string {
  return `${body.action === 'open' ? 'Opening' : 'Closing'} valve ${valve} (MQTT command)`;
}

function readingOf({ operation, params: { sonic_id } }: ValveCall): SonicReading {
  return {
    operation: operation === 'command_wifi_valve' ? 'read_wifi_sonic' : 'read_sonic',
    params: { sonic_id },
  };
}
