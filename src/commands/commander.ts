import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { reasonOf } from '../base/reason.ts';
import type { BrokerMessage } from '../broker/message.ts';
import type { Control } from '../cloud/catalogue.ts';
import type { CloudClient } from '../cloud/client.ts';
import { isSafeId } from '../cloud/decoders.ts';
import { CloudError } from '../cloud/errors.ts';
import type { BridgeOrder, Order } from '../entities/row.ts';
import {
  forbiddenBy,
  forbiddenWords,
  isCommandPath,
  movesValve,
  type ParsedCommand,
  parseCommand,
  parseIncidentCommand,
} from '../homeassistant/command.ts';
import type { Target, Topics } from '../homeassistant/topics.ts';
import type { BridgeView } from '../model/devices.ts';
import type { PlannedKind } from '../store/dirty.ts';
import type { Store } from '../store/store.ts';
import { type ChangeEnd, type ChangeErrand, isChange } from './changes.ts';
import { isTooOld, tooOldWords } from './messageAge.ts';
import { type Outcome, retainedWords, stoppedWords } from './outcome.ts';
import { payloadFlaw } from './payloadFlaw.ts';
import { isValveCall } from './valveCall.ts';
import type { ValveEnd, ValveErrand } from './valveLanes.ts';

export interface CommanderOptions {
  readonly topics: Topics;
  readonly control: Readonly<Record<Control, boolean>>;
  readonly client: CloudClient;
  readonly store: Store;
  readonly bridgeView: () => BridgeView;
  /** How long a command may take from when it was sent, in ms. */
  readonly requestTimeoutMs: number;
  /** Why no valve may be moved at present, in words; null while they may. */
  readonly standstill: () => string | null;
  /** Once it has aborted, commands are refused. */
  readonly signal: AbortSignal;
  /** What is asked of the bridge itself. */
  readonly carryOut: (order: BridgeOrder) => void;
  readonly moveValve: (errand: ValveErrand) => void;
  /** Changes that move no valve. */
  readonly change: (errand: ChangeErrand) => void;
  readonly tell: (outcome: Outcome) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Why an empty command is refused where it may only delete a retained one. */
const doubtfulWords =
  'the broker keeps so many retained commands that an empty message may only delete one: delete them all, or send another word';

/** More are not remembered, so that nobody fills the memory with them. */
const mostKept = 1_000;

/** Closed incidents that are read at a time. */
const mostRead = 4;

/** Knows what a command asks for, hands it to those who carry it out, and tells how it ended. */
export class Commander {
  readonly #options: CommanderOptions;
  /** Topics at which the broker keeps a command that was refused. */
  readonly #kept = new Set<string>();
  /** How many closed incidents are being read. */
  #reading = 0;

  constructor(options: CommanderOptions) {
    this.#options = options;
  }

  /** To be called before each connection's messages: the broker tells anew what it keeps, and may have lost it. */
  forgetKept(): void {
    this.#kept.clear();
  }

  /** Takes a message; if it is a command, its outcome is told in any case. */
  take(message: BrokerMessage): void {
    const { topics, signal, log } = this.#options;
    const { topic, payload, isRetained } = message;
    const target = topics.parse(topic);
    if (!target || !isCommandPath(target.kind, target.path)) return;
    if (target.kind !== 'bridge' && !this.#isAnswerable(target.kind, target.id)) {
      log.debug(`${topic} is for another bridge`);
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
    const old = isTooOld(message, this.#options) ? tooOldWords : null;
    const flaw = signal.aborted ? stoppedWords : (old ?? words);
    if (flaw !== null) {
      this.#end(topic, 'refused', flaw);
      return;
    }
    const { kind, id } = target;
    const { store } = this.#options;
    const isClosed = kind === 'incident' && store.incident(id) === null && store.isCertain;
    if (isClosed && isSafeId(id)) void this.#actOnClosed(message, target);
    else this.#follow(message, target, this.#understand(target, payload));
  }

  #follow(message: BrokerMessage, target: Target, parsed: ParsedCommand): void {
    if ('refusal' in parsed) this.#end(message.topic, 'refused', parsed.refusal);
    else this.#handOn(message, target, parsed.order);
  }

  /** An incident that is not open may offer something too, such as `reopen`: what, only the incident itself says. */
  async #actOnClosed(message: BrokerMessage, target: Target): Promise<void> {
    const { client, control, store, requestTimeoutMs, signal, clock } = this.#options;
    const { topic, payload, sentAfter } = message;
    const { id } = target;
    const forbidden = forbiddenBy('act_on_incident', control);
    if (forbidden !== null) {
      this.#end(topic, 'refused', forbiddenWords(forbidden));
      return;
    }
    if (this.#reading >= mostRead) {
      this.#end(topic, 'refused', `${mostRead} closed incidents are being read already`);
      return;
    }
    this.#reading += 1;
    let httpStatus: number | null = null;
    try {
      const call = { operation: 'read_incident', params: { incident_id: id } } as const;
      const incident = await client.call(call, {
        priority: 'command',
        signal,
        timeoutMs: sentAfter + requestTimeoutMs - clock.monotonic(),
        // One that is not there does not speak of the route.
        isOneOfMany: true,
        onAnswer: (status) => {
          httpStatus = status;
        },
      });
      // The cloud also gives incidents of properties that are not shown here.
      const isHere = incident.id === id && store.neighbourhood.isIncidentHere(incident);
      const parsed = isHere
        ? parseIncidentCommand(incident, payload, control)
        : this.#nothing('incident', id);
      this.#follow(message, target, parsed);
    } catch (error) {
      const isMissing = error instanceof CloudError && error.kind === 'notFound';
      if (isMissing) this.#end(topic, 'refused', `there is no incident ${id}`, httpStatus);
      else this.#end(topic, 'error', reasonOf(error), httpStatus);
    } finally {
      this.#reading -= 1;
    }
  }

  /** Several bridges hear of each command: one of them answers. */
  #isAnswerable(kind: PlannedKind, id: string): boolean {
    const { store } = this.#options;
    const isShown = kind === 'incident' ? store.incident(id) : store.view(kind, id);
    return isShown !== null || store.neighbourhood.answersFor(kind, id);
  }

  #understand({ kind, id, path }: Target, payload: string): ParsedCommand {
    const { control, store, bridgeView } = this.#options;
    if (kind === 'incident') {
      const incident = store.incident(id);
      return incident ? parseIncidentCommand(incident, payload, control) : this.#nothing('incident', id);
    }
    const view = kind === 'bridge' ? bridgeView() : store.view(kind, id);
    return view ? parseCommand(view, path, payload, control) : this.#nothing(kind, id);
  }

  #nothing(what: string, id: string): ParsedCommand {
    const yet = this.#options.store.isCertain
      ? ''
      : ' as far as is known: the cloud could not be read completely yet';
    return { refusal: `there is no ${what} ${id.slice(0, 80)}${yet}` };
  }

  #handOn({ topic, sentAfter }: BrokerMessage, { kind, id }: Target, order: Order): void {
    const { carryOut, moveValve, change, standstill } = this.#options;
    if ('order' in order) {
      carryOut(order);
      this.#end(topic, 'ok', null);
      return;
    }
    const flaw = [order].flat().some(movesValve) ? standstill() : null;
    if (flaw !== null) this.#end(topic, 'refused', flaw);
    else if ('operation' in order && isValveCall(order)) {
      const onEnd = ({ status, reason, httpStatus }: ValveEnd) =>
        this.#end(topic, status, reason, httpStatus);
      moveValve({ topic, sentAfter, call: order, priority: 'urgent', onEnd });
    } else {
      const calls = [order].flat();
      const onEnd: ChangeEnd = (...end) => this.#end(topic, ...end);
      if (calls.every(isChange)) change({ topic, sentAfter, target: `${kind}/${id}`, calls, onEnd });
      else
        this.#end(topic, 'refused', `${calls.map(({ operation }) => operation).join(', ')} is not a command`);
    }
  }

  #end(
    topic: string,
    status: Outcome['status'],
    reason: string | null,
    httpStatus: number | null = null,
  ): void {
    this.#options.tell({ topic, status, reason, http_status: httpStatus });
  }
}
