import { sleep } from '../base/clock.ts';
import { describeDuration } from '../base/duration.ts';
import type { BrokerMessage } from '../broker/message.ts';
import type { Answered } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import type { Call } from '../cloud/operations.ts';
import { provablyNotExecuted } from '../cloud/retry.ts';
import { settledValve, targetOf, type ValveAction } from '../model/valve.ts';
import type { Store } from '../store/store.ts';
import { messageProblem, timeLeftMs } from './messageRules.ts';
import { type CommandParts, type Outcomes, reasonFor, reasons, type ValveCall } from './outcome.ts';

/*
 * Moves valves. This is the whole promise about them, and where each sentence of it is kept:
 *
 * 1. Only a message moves a valve. `move` below is the only way of a valve call to the cloud. It has two callers, and
 *    both give it the message that asked: the router for `sonic/{id}/valve/set`, and the requests for `bridge/request/…`.
 * 2. A retained message is refused (`messageProblem`, which the router asks before it reads any message, and `move`
 *    again). What the broker delivers twice on one connection is dropped where it arrives (`broker/mqttSession.ts`).
 * 3. While a second bridge runs by mistake, no valve is moved (`move`).
 * 4. An old message is refused. Its time, `cloud.request_timeout`, begins when the last ping was sent that the broker
 *    answered before it (`broker/pings.ts`), so that it counts while a network, a process or a machine sleeps. It is
 *    looked at when the message comes (`messageProblem`), when its turn comes (`#send`), and when the request is about
 *    to be written (`cloud/client.ts`). The same time ends the request, but for one sign-in that it may need.
 * 5. Commands to one valve run one at a time. Of those that wait the newest wins, and the others end `superseded`; one
 *    that was not sent yet, or plainly not carried out, gives way as well (`move`, `#send`).
 * 6. A command is sent once. Nothing here repeats it. The client does so only where the cloud provably did not act
 *    (`provablyNotExecuted` in `cloud/retry.ts`), within the same time, and not when a newer command has come.
 * 7. What is given up is not delivered later: its connection is reset (`cloud/http.ts`). A stop ends all that is
 *    under way, and what still waits is not sent (`signal`).
 * 8. A status code of success is the cloud's word that it accepted the command, and no more. The valve is shown
 *    `opening` or `closing` then, is read again and again, and is shown as the cloud says. If it does not get there
 *    within `valve.confirm_timeout`, the command ends a second time, as `not_confirmed` (`#confirm`).
 * 9. Each command has one outcome, whatever happens (`#end`); `not_confirmed` comes besides.
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
interface Command {
  readonly message: BrokerMessage;
  readonly call: ValveCall;
  /** What came by the valve's own topic goes before requests of any number. */
  readonly priority: 'valve' | 'command';
  readonly id: string;
  /** Aborts when a newer command for the valve has come: from then on this one is not sent any more. */
  readonly overtaken: AbortController;
  readonly onEnd: (result: ValveResult) => void;
}

type SonicReading = Call<'read_sonic' | 'read_wifi_sonic'>;

const superseded = { status: 'superseded', reason: 'a newer command for this valve arrived' } as const;

/** Moves valves: one command at a time for each, in time, once, and confirmed by what the cloud says afterwards. */
export class ValveQueue {
  readonly #parts: CommandParts;
  readonly #outcomes: Outcomes;
  // By valve: the command that is being sent, and the one that waits behind it. By sonic: the one that is to show.
  readonly #sending = new Map<string, Command>();
  readonly #waiting = new Map<string, Command>();
  readonly #confirming = new Map<string, Command>();

  constructor(parts: CommandParts, outcomes: Outcomes) {
    this.#parts = parts;
    this.#outcomes = outcomes;
  }

  /** Carries out what a message asks of a valve, and records the outcome; never rejects. */
  move(message: BrokerMessage, call: ValveCall, priority: Command['priority']): Promise<ValveResult> {
    return new Promise((onEnd) => {
      const id = valveOf(call);
      this.#enqueue({ message, call, priority, id, overtaken: new AbortController(), onEnd });
    });
  }

  #enqueue(command: Command): void {
    const { otherBridges, store, log } = this.#parts;
    const { message, call, id } = command;
    const reason = messageProblem(message, this.#parts)?.reason ?? otherBridges.problem;
    if (reason !== null) {
      this.#end(command, { status: 'refused', reason });
      return;
    }
    log.info(
      { device: id, topic: message.topic, operation: call.operation },
      `${call.body.action === 'open' ? 'Opening' : 'Closing'} valve ${store.label('sonic', id)} (MQTT command)`,
    );
    const valve = keyOf(id);
    const before = this.#waiting.get(valve);
    this.#waiting.set(valve, command);
    if (before) this.#end(before, superseded);
    this.#sending.get(valve)?.overtaken.abort();
    if (!this.#sending.has(valve)) void this.#drain(valve);
  }

  async #drain(valve: string): Promise<void> {
    for (let next = this.#waiting.get(valve); next; next = this.#waiting.get(valve)) {
      this.#waiting.delete(valve);
      this.#sending.set(valve, next);
      await this.#send(next);
    }
    this.#sending.delete(valve);
  }

  /** Sends a command whose turn has come; resolves as soon as the next one may be sent. */
  async #send(command: Command): Promise<void> {
    const { client, store, poller, signal, log } = this.#parts;
    const { message, call, priority, id, overtaken } = command;
    const { topic } = message;
    const timeoutMs = timeLeftMs(message.sentAfter, this.#parts);
    if (signal.aborted || timeoutMs === null) {
      const words = signal.aborted
        ? reasons.stopping
        : 'timeout: the previous command took too long. This one was not sent';
      const details = { timedOut: !signal.aborted, mayHaveActed: false };
      const error = new CloudError('unavailable', call.operation, words, details);
      this.#end(command, { status: 'error', httpStatus: null, error });
      return;
    }
    const stateBefore = store.sonicView(id)?.sonic.valve_state ?? null;
    let httpStatus: number | null = null;
    const onAnswer = (status: number) => {
      httpStatus = status;
    };
    let answer: Answered<ValveCall['operation']>;
    try {
      const sendSignal = overtaken.signal;
      answer = await client.callRaw(call, { priority, signal, sendSignal, timeoutMs, onAnswer });
    } catch (error) {
      this.#outcomes.noteFailure(topic, error);
      // Were it not for a newer command, it would be sent yet, or again.
      const hasGivenWay =
        overtaken.signal.aborted && error instanceof CloudError && provablyNotExecuted(error);
      this.#end(command, hasGivenWay ? superseded : { status: 'error', httpStatus, error });
      // The cloud may have accepted it, and nobody would look.
      if (error instanceof CloudError && error.mayHaveActed && !signal.aborted) void poller.runNow('sonics');
      return;
    }
    this.#end(command, { status: 'ok', httpStatus, answer });
    log.info(
      { device: id, topic, operation: call.operation },
      `Valve ${store.label('sonic', id)}: ${shown(call.body.action)} command accepted by the cloud`,
    );
    void this.#confirm(command, stateBefore);
  }

  /** Reads the sonic until its valve is where it was sent; a newer command that was accepted ends this. */
  async #confirm(command: Command, stateBefore: string | null): Promise<void> {
    const { client, store, signal, clock, log } = this.#parts;
    const { confirmTimeoutMs, confirmIntervalMs, requestTimeoutMs } = this.#parts;
    const { message, call, id } = command;
    const { topic } = message;
    const action = actionOf(call);
    const reading = readingOf(call, store);
    if (action === null || reading === null) return;
    const isOver = () => signal.aborted || this.#confirming.get(id) !== command;
    const acceptedAt = clock.monotonic();
    const until = acceptedAt + confirmTimeoutMs;
    store.commandAccepted(id, action, acceptedAt);
    this.#confirming.set(id, command);
    while (clock.monotonic() < until) {
      // A sonic that is not shown, since the filters hide it, is only read here.
      let stateRead: string | null = null;
      try {
        await sleep(clock, Math.max(1, Math.min(confirmIntervalMs, until - clock.monotonic())), signal);
        if (isOver()) return;
        const readAt = clock.monotonic();
        // The last one is given its time too.
        const leftMs = Math.max(until - readAt, confirmIntervalMs);
        const sonic = await client.call(reading, {
          priority: 'command',
          signal,
          timeoutMs: Math.min(requestTimeoutMs, leftMs),
        });
        store.setSonic(sonic, readAt);
        // What is said of another valve tells nothing of this one; some clouds take two spellings of an id for one.
        if (keyOf(sonic.id) === keyOf(id)) stateRead = sonic.valve_state;
      } catch (error) {
        log.debug({ device: id }, `Reading the valve to confirm a command: ${String(error)}`);
      }
      if (isOver()) return;
      const view = store.sonicView(id);
      // A list may have brought it; what was read before the command tells nothing of it.
      const isRead = (store.devices.sonic.readAt(id) ?? acceptedAt) >= acceptedAt;
      if (isRead && settledValve(view ? view.sonic.valve_state : stateRead) === targetOf[action]) {
        const tookMs = clock.monotonic() - acceptedAt;
        if (settledValve(stateBefore) !== targetOf[action]) {
          store.recordTravelTime(id, Math.round(tookMs / 100) / 10);
        }
        this.#stopConfirming(id);
        log.info(
          { device: id, topic },
          `Valve ${store.label('sonic', id)}: ${targetOf[action]} after ${describeDuration(tookMs)}`,
        );
        return;
      }
    }
    this.#stopConfirming(id);
    this.#outcomes.record(topic, 'error', 'not_confirmed', null);
  }

  /** From here on the cloud's word stands. */
  #stopConfirming(id: string): void {
    this.#confirming.delete(id);
    this.#parts.store.commandSettled(id);
  }

  #end({ message, onEnd }: Command, result: ValveResult): void {
    const { topic } = message;
    if (result.status === 'ok') this.#outcomes.record(topic, 'ok', null, result.httpStatus);
    else if (result.status !== 'error') this.#outcomes.record(topic, result.status, result.reason, null);
    else this.#outcomes.record(topic, 'error', reasonFor(result.error), result.httpStatus);
    onEnd(result);
  }
}

/** The sonic whose valve a call is about. */
export function valveOf(call: ValveCall): string {
  return call.operation === 'change_thing_state' ? call.params.thing_id : call.params.sonic_id;
}

/** A cloud may take two spellings of an id for one valve. */
function keyOf(id: string): string {
  return id.toLowerCase();
}

/** What a call asks of the valve; null where that is something else, as a thing may be asked for anything. */
function actionOf({ body: { action } }: ValveCall): ValveAction | null {
  return action === 'open' || action === 'close' ? action : null;
}

/** An action in a log line. */
function shown(action: string): string {
  return /^[a-z_]{1,40}$/.test(action) ? action : JSON.stringify(action.slice(0, 40));
}

/** How to see what came of a command; null for a thing of which nobody knows that it is a sonic. */
function readingOf(call: ValveCall, store: Store): SonicReading | null {
  const sonic_id = valveOf(call);
  const isKnown = store.sonicView(sonic_id) !== null;
  if (call.operation === 'change_thing_state' && !isKnown) return null;
  // One that is shown is read as it is listed, whichever way it was told.
  const isWifi = isKnown ? store.topology.isWifi(sonic_id) : call.operation === 'command_wifi_valve';
  return { operation: isWifi ? 'read_wifi_sonic' : 'read_sonic', params: { sonic_id } };
}
