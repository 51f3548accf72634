import { setMaxListeners } from 'node:events';
import { type Clock, sleep } from '../base/clock.ts';
import { describeDuration } from '../base/duration.ts';
import type { BrokerMessage } from '../broker/message.ts';
import type { Answered } from '../cloud/client.ts';
import { GivenUp } from '../cloud/deadline.ts';
import { CloudError } from '../cloud/errors.ts';
import type { Call } from '../cloud/operations.ts';
import type { UncheckedCall } from '../cloud/request.ts';
import { provablyNotExecuted } from '../cloud/retry.ts';
import { idKey } from '../model/ids.ts';
import { settledValve, targetOf, type ValveAction } from '../model/valve.ts';
import type { AskedCommand, CommandStatus } from '../model/valveCommand.ts';
import type { Store } from '../store/store.ts';
import { type MessageLimits, messageProblem, timeLeftMs } from './messageRules.ts';
import { type CommandParts, isValveOperation, reasonFor, reasons, type ValveCall } from './outcome.ts';
import type { ValveWishes } from './valveWishes.ts';

/*
 * Moves valves. This is the whole promise about them, and where each sentence of it is kept:
 *
 * 1. Only a message moves a valve. `move` below is the only way of a valve call to the cloud. It has two callers, and
 *    both give it the message that asked: the router for `sonic/{id}/valve/set`, and the requests for `bridge/request/…`.
 * 2. A retained message is refused (`messageProblem`, which the router asks before it reads any message, and `move`
 *    again), and so is one that the broker may have stored without that flag (`broker/storedMessages.ts`). What it
 *    delivers twice on one connection is dropped where it arrives (`broker/mqttSession.ts`).
 * 3. While a second bridge runs by mistake, no valve is moved (`move`).
 * 4. An old message is not carried out. Its time, `cloud.request_timeout`, begins when the last ping was sent that the
 *    broker answered before it (`broker/pings.ts`), and is measured by a clock that goes on while the machine sleeps
 *    (`base/clock.ts`). It is looked at when the message comes (`messageProblem`) and when its turn comes (`#send`).
 * 5. All that decides is looked at once more when the connection is open and the first byte is about to be written: the
 *    time that is left, of which a tenth must be, and what has ended the command before, a newer one or a stop (`#gate` in
 *    `cloud/requestPipeline.ts`). What fails there writes nothing. Until then a command is not sent. The same time ends the
 *    request; it is given back the time that one sign-in took, if one was needed.
 * 6. Commands to one valve run one at a time, and the newest wins. What waits, is still connecting, or was plainly not
 *    carried out, gives way at once and ends `superseded`. What is sent and not answered is given up after a quarter of
 *    the newer one's time, and ends as an error (`#overtake`).
 *    What moves the valve in another way, a pressure test or an action of an incident, gives way too (`valveWishes.ts`).
 * 7. A command is sent once. Nothing here repeats it. The client does so only where the cloud provably did not act
 *    (`provablyNotExecuted` in `cloud/retry.ts`), within the same time, and not when a newer command has come.
 * 8. What is given up is not delivered later: its connection is reset (`cloud/http.ts`). A stop ends all that is
 *    under way, and what still waits is not sent.
 * 9. A status code of success is the cloud's word that it accepted the command, and no more. The valve is shown
 *    `opening` or `closing` then, is read again and again, and is shown as the cloud says. If it does not get there
 *    within `valve.confirm_timeout`, the command ends a second time, as `not_confirmed`. A valve is also read after a
 *    command that failed and that the cloud may have carried out (`#follow`).
 * 10. Each command has one outcome, whatever happens (`#end`); `not_confirmed` comes besides.
 */

/** How a command ended; after `ok` the valve may still be on its way. */
export type ValveResult =
  | {
      readonly status: 'ok';
      readonly httpStatus: number | null;
      readonly answer: Answered<ValveCall['operation']>;
    }
  | { readonly status: 'refused' | 'superseded'; readonly reason: string }
  | { readonly status: 'error'; readonly httpStatus: number | null; readonly error: unknown };

/** A command on its way. */
interface ValveCommand {
  readonly message: BrokerMessage;
  readonly call: ValveCall;
  /** A command at the valve's own topic goes before any number of requests. */
  readonly priority: 'valve' | 'command';
  readonly id: string;
  /** As the records of the valve know it. */
  readonly asked: AskedCommand;
  /** Ends it, whatever it is doing. */
  readonly giveUp: AbortController;
  /** Whether the cloud may have received it: it has passed the gate, and is not answered. */
  isInFlight: boolean;
  /** Whether a newer command for the valve has come: from then on this one is not sent any more. */
  isOvertaken: boolean;
  /** Cancels the timer that gives it up for that newer command. */
  cancelGiveUp: () => void;
  readonly onEnd: (result: ValveResult) => void;
}

/** What may be an object. */
type Keys = Readonly<Record<string, unknown>> | null | undefined;

type SonicReading = Call<'read_sonic' | 'read_wifi_sonic'>;

const superseded = { status: 'superseded', reason: 'a newer command for this valve arrived' } as const;

const overtaken = new GivenUp(
  'no answer before a newer command for this valve. The cloud may still carry it out',
  false,
);

/** A command that is sent and not answered is given up after this share of the time of a newer one. */
const shareOfNewer = 0.25;

/** What the valve queue works with. */
export type ValveQueueParts = MessageLimits &
  Pick<
    CommandParts,
    | 'client'
    | 'store'
    | 'poller'
    | 'otherBridges'
    | 'outcomes'
    | 'confirmTimeoutMs'
    | 'confirmIntervalMs'
    | 'log'
  > & { readonly wishes: ValveWishes };

/** Moves valves: one command at a time for each, in time, once, and confirmed by what the cloud says afterwards. */
export class ValveQueue {
  readonly #parts: ValveQueueParts;
  // By valve: the command that is being sent, the one that waits behind it, and the one whose valve is read.
  readonly #sending = new Map<string, ValveCommand>();
  readonly #waiting = new Map<string, ValveCommand>();
  readonly #following = new Map<string, ValveCommand>();

  constructor(parts: ValveQueueParts) {
    this.#parts = parts;
    const { stopping } = parts;
    // Many valves may be read at a time.
    setMaxListeners(0, stopping);
    stopping.addEventListener('abort', () => {
      for (const { giveUp } of this.#sending.values()) giveUp.abort(stopping.reason);
    });
  }

  /** Sends the valve command of a message, and records the outcome; never rejects. */
  move(message: BrokerMessage, call: ValveCall, priority: ValveCommand['priority']): Promise<ValveResult> {
    return new Promise((onEnd) => {
      const id = valveOf(call);
      const giveUp = new AbortController();
      const state = { isInFlight: false, isOvertaken: false, cancelGiveUp: () => {} };
      const asked = askedBy(message, actionOf(call), this.#parts.clock);
      this.#enqueue({ message, call, priority, id, asked, giveUp, ...state, onEnd });
    });
  }

  /** Notes a command that is refused before it comes here: it is the newest of its valve too. */
  noteRefused(message: BrokerMessage, id: string, action: ValveAction | null, reason: string): void {
    // What the broker may have stored is no wish of now, and comes again with each connection.
    if (message.isRetained || message.mayBeStored) return;
    const { store, clock } = this.#parts;
    store.recordCommand(id, askedBy(message, action, clock), 'refused', reason, { isFailure: true });
  }

  #enqueue(command: ValveCommand): void {
    const { otherBridges, store, wishes, log } = this.#parts;
    const { message, call, id } = command;
    const reason = messageProblem(message, this.#parts)?.reason ?? otherBridges.problem;
    if (reason !== null) {
      this.#end(command, { status: 'refused', reason });
      return;
    }
    log.info(
      { device: id, topic: message.topic, operation: call.operation },
      logLineOf(call, store.label('sonic', id)),
    );
    this.#note(command, 'sent', null);
    const valve = idKey(id);
    wishes.commanded(valve);
    const before = this.#waiting.get(valve);
    this.#waiting.set(valve, command);
    if (before) this.#end(before, superseded);
    const sending = this.#sending.get(valve);
    if (sending) this.#overtake(sending, command);
    else void this.#drain(valve);
  }

  /** Ends a command in time for a newer one. */
  #overtake(older: ValveCommand, { message }: ValveCommand): void {
    if (older.isOvertaken) return;
    older.isOvertaken = true;
    const giveUp = () => older.giveUp.abort(overtaken);
    const leftMs = timeLeftMs(message.sentAfter, this.#parts) ?? 0;
    if (older.isInFlight) older.cancelGiveUp = this.#parts.clock.after(shareOfNewer * leftMs, giveUp);
    else giveUp();
  }

  async #drain(valve: string): Promise<void> {
    for (let next = this.#waiting.get(valve); next; next = this.#waiting.get(valve)) {
      this.#waiting.delete(valve);
      this.#sending.set(valve, next);
      await this.#send(next);
      next.cancelGiveUp();
    }
    this.#sending.delete(valve);
  }

  /** Sends a command whose turn has come; resolves as soon as the next one may be sent. */
  async #send(command: ValveCommand): Promise<void> {
    const { client, store, outcomes, stopping, log } = this.#parts;
    const { message, call, priority, id, giveUp } = command;
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
    const stateBefore = store.sonicView(id)?.sonic.valve_state ?? null;
    let httpStatus: number | null = null;
    const onAnswer = (status: number) => {
      httpStatus = status;
    };
    const onFlight = (isInFlight: boolean) => {
      command.isInFlight = isInFlight;
      if (isInFlight) store.recordInFlight(id, command.asked);
      // It must not be sent again.
      if (!isInFlight && command.isOvertaken) giveUp.abort(overtaken);
    };
    let answer: Answered<ValveCall['operation']>;
    try {
      answer = await client.callRaw(call, { priority, signal: giveUp.signal, timeoutMs, onAnswer, onFlight });
    } catch (error) {
      outcomes.noteFailure(topic, error);
      // Without the newer command it would still be sent, or sent again.
      const hasGivenWay = command.isOvertaken && error instanceof CloudError && provablyNotExecuted(error);
      this.#end(command, hasGivenWay ? superseded : { status: 'error', httpStatus, error });
      const mayMove = error instanceof CloudError && error.mayHaveActed;
      store.recordMovesUntil(id, command.asked, mayMove ? this.#confirmUntil() : null);
      // The cloud may have accepted it, so the valve is read.
      if (error instanceof CloudError && error.mayHaveActed) void this.#follow(command, stateBefore, false);
      return;
    }
    store.recordMovesUntil(id, command.asked, this.#confirmUntil());
    this.#end(command, { status: 'ok', httpStatus, answer });
    log.info(
      { device: id, topic, operation: call.operation },
      `Valve ${store.label('sonic', id)}: ${actionText(call.body.action)} command accepted by the cloud`,
    );
    void this.#follow(command, stateBefore, true);
  }

  /**
   * Reads the sonic until its valve has followed the command, or a newer command is followed. Only a command that the
   * cloud accepted can end as `not_confirmed`.
   */
  async #follow(command: ValveCommand, stateBefore: string | null, isAccepted: boolean): Promise<void> {
    const { client, store, poller, outcomes, stopping, clock, log } = this.#parts;
    const { confirmTimeoutMs, confirmIntervalMs, requestTimeoutMs } = this.#parts;
    const { message, call, id } = command;
    const { topic } = message;
    const action = actionOf(call);
    const reading = readingOf(call, store);
    if (stopping.aborted) return;
    if (!isAccepted || action === null || reading === null) void poller.runNow('sonics');
    if (action === null || reading === null) return;
    // The valve is read already, for a command that was accepted.
    if (!isAccepted && this.#following.has(idKey(id))) return;
    const isOver = () => stopping.aborted || this.#following.get(idKey(id)) !== command;
    const sentAt = clock.monotonic();
    const until = sentAt + confirmTimeoutMs;
    if (isAccepted) store.commandAccepted(id, action, sentAt);
    this.#following.set(idKey(id), command);
    while (clock.monotonic() < until) {
      // A sonic that the filters hide is only read here.
      let stateRead: string | null = null;
      try {
        await sleep(clock, Math.max(1, Math.min(confirmIntervalMs, until - clock.monotonic())), stopping);
        if (isOver()) return;
        const readAt = clock.monotonic();
        // The last read gets a whole interval too.
        const leftMs = Math.max(until - readAt, confirmIntervalMs);
        const sonic = await client.call(reading, {
          priority: 'command',
          signal: stopping,
          timeoutMs: Math.min(requestTimeoutMs, leftMs),
        });
        store.setSonic(sonic, readAt);
        // The answer may be about another valve. A cloud may use another spelling of the id.
        if (idKey(sonic.id) === idKey(id)) stateRead = sonic.valve_state;
      } catch (error) {
        log.debug({ device: id }, `Reading the valve to confirm a command: ${String(error)}`);
      }
      if (isOver()) return;
      const view = store.sonicView(id);
      // A list may have read the new state. A state that was read before the command confirms nothing.
      const isRead = (store.devices.sonic.readAt(id) ?? sentAt) >= sentAt;
      if (isRead && settledValve(view ? view.sonic.valve_state : stateRead) === targetOf[action]) {
        const tookMs = clock.monotonic() - sentAt;
        this.#following.delete(idKey(id));
        this.#note(command, 'confirmed', null);
        if (!isAccepted) return;
        if (settledValve(stateBefore) !== targetOf[action]) {
          store.recordTravelTime(id, Math.round(tookMs / 100) / 10);
        }
        store.commandSettled(id);
        log.info(
          { device: id, topic },
          `Valve ${store.label('sonic', id)}: ${targetOf[action]} after ${describeDuration(tookMs)}`,
        );
        return;
      }
    }
    this.#following.delete(idKey(id));
    if (!isAccepted) return;
    // From now on the state of the cloud is shown.
    store.commandSettled(id);
    const waited = describeDuration(confirmTimeoutMs);
    log.warn(
      { device: id, topic },
      `Valve ${store.label('sonic', id)} did not ${action} within ${waited}. Look at it, then check its battery and its hub`,
    );
    const isRead = (store.devices.sonic.readAt(id) ?? 0) >= sentAt;
    const reason = isRead ? `no movement within ${waited}` : `the valve could not be read for ${waited}`;
    this.#note(command, 'not_confirmed', reason, isRead ? confirmTimeoutMs : null);
    outcomes.record(topic, 'error', 'not_confirmed', null);
  }

  #confirmUntil(): number {
    return this.#parts.clock.monotonic() + this.#parts.confirmTimeoutMs;
  }

  /** Records how far a command is; one that names neither position is none that could be confirmed. */
  #note(
    { id, asked }: ValveCommand,
    status: CommandStatus,
    reason: string | null,
    waitedMs: number | null = null,
  ) {
    const isFailure = status === 'error' || status === 'refused' || status === 'not_confirmed';
    if (asked.action !== null)
      this.#parts.store.recordCommand(id, asked, status, reason, { isFailure, waitedMs });
  }

  #end(command: ValveCommand, result: ValveResult): void {
    const { message, onEnd } = command;
    const { topic } = message;
    const { outcomes } = this.#parts;
    if (result.status === 'error') this.#note(command, 'error', reasonFor(result.error));
    else if (result.status !== 'ok') this.#note(command, result.status, result.reason);
    if (result.status === 'ok') outcomes.record(topic, 'ok', null, result.httpStatus);
    else if (result.status !== 'error') outcomes.record(topic, result.status, result.reason, null);
    else outcomes.record(topic, 'error', reasonFor(result.error), result.httpStatus);
    onEnd(result);
  }
}

/** The sonic whose valve a call is about. */
export function valveOf(call: ValveCall): string {
  return call.operation === 'change_thing_state' ? call.params.thing_id : call.params.sonic_id;
}

/** The valve and the action of a call that is not checked yet; null for one that names no valve. */
export function moveIn({ operation, params, body }: UncheckedCall) {
  const id = (params as Keys)?.[operation === 'change_thing_state' ? 'thing_id' : 'sonic_id'];
  if (!isValveOperation(operation) || typeof id !== 'string') return null;
  return { id, action: actionNamed((body as Keys)?.action) };
}

/** A message as the records of its valve know it. */
function askedBy({ topic }: BrokerMessage, action: ValveAction | null, clock: Clock): AskedCommand {
  return { action, topic, askedAt: new Date(clock.now()).toISOString() };
}

/** The action of a call; null for any other word, which `change_thing_state` may have. */
function actionOf({ body }: ValveCall): ValveAction | null {
  return actionNamed(body.action);
}

function actionNamed(action: unknown): ValveAction | null {
  return action === 'open' || action === 'close' ? action : null;
}

/** What a call does to a valve, for the log. */
function logLineOf(call: ValveCall, valve: string): string {
  const action = actionOf(call);
  if (action === null) return `Sending ${actionText(call.body.action)} to ${valve} (MQTT command)`;
  return `${action === 'open' ? 'Opening' : 'Closing'} valve ${valve} (MQTT command)`;
}

/** An action in a log line. */
function actionText(action = 'no action'): string {
  return /^[a-z_]{1,40}$/.test(action) ? action : JSON.stringify(action.slice(0, 40));
}

/** The call that reads the valve of a command; null for a thing that is not known to be a sonic. */
function readingOf(call: ValveCall, store: Store): SonicReading | null {
  const sonic_id = valveOf(call);
  const isKnown = store.sonicView(sonic_id) !== null;
  if (call.operation === 'change_thing_state' && !isKnown) return null;
  // A sonic that is shown is read by the operation of its list, whichever operation commands it.
  const isWifi = isKnown ? store.topology.isWifi(sonic_id) : call.operation === 'command_wifi_valve';
  return { operation: isWifi ? 'read_wifi_sonic' : 'read_sonic', params: { sonic_id } };
}
