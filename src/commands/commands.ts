import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { BrokerMessage } from '../broker/message.ts';
import type { Control } from '../cloud/catalogue.ts';
import type { CloudClient } from '../cloud/client.ts';
import { GivenUp } from '../cloud/deadline.ts';
import type { BridgeOrder } from '../entities/row.ts';
import type { Topics } from '../homeassistant/topics.ts';
import type { BridgeView, DeviceKind } from '../model/devices.ts';
import type { Slice } from '../polling/pollStatus.ts';
import type { Happening, Store } from '../store/store.ts';
import { Answers } from './answers.ts';
import { Changes } from './changes.ts';
import { Commander } from './commander.ts';
import { type CommandTimes, Confirmations } from './confirmations.ts';
import { FollowUp } from './followUp.ts';
import { type Outcome, unansweredWords } from './outcome.ts';
import { Requests } from './requests.ts';
import { ValveLanes } from './valveLanes.ts';
import { type ValveOutcome, ValveOutcomes } from './valveOutcomes.ts';

export interface CommandsOptions extends CommandTimes {
  readonly topics: Topics;
  readonly control: Readonly<Record<Control, boolean>>;
  /** Where Home Assistant says that it has started. */
  readonly statusTopic: string;
  readonly client: CloudClient;
  readonly connection: Connection;
  readonly store: Store;
  readonly bridgeView: () => BridgeView;
  /** Why no valve may be moved at present, in words; null while they may. */
  readonly standstill: () => string | null;
  readonly clock: Clock;
  readonly log: Log;
}

/** What follows from commands elsewhere. */
export interface CommandsEvents {
  /** Something is asked of the bridge itself. */
  readonly ordered: (order: BridgeOrder) => void;
  readonly happened: (happenings: readonly Happening[]) => void;
  /** A slice may show something new: worth an early poll. */
  readonly changed: (slice: Slice) => void;
  /** A pressure test of that sonic was started. */
  readonly testStarted: (sonicId: string) => void;
  /** An operation is offered no more, or again. */
  readonly offersChanged: () => void;
  readonly ended: (outcome: Outcome) => void;
  /** What a command was to change is as it was: whoever sent it may show already what was asked for. */
  readonly unchanged: (kind: DeviceKind, id: string) => void;
}

/** The way of a command from the broker to the cloud, and of its outcome back: by device topics and by requests. */
export class Commands {
  readonly #options: CommandsOptions;
  readonly #events: CommandsEvents;
  readonly #commander: Commander;
  readonly #requests: Requests;
  readonly #confirmations: Confirmations;
  readonly #valveOutcomes: ValveOutcomes;
  readonly #stopping = new AbortController();

  constructor(options: CommandsOptions, events: CommandsEvents) {
    this.#options = options;
    this.#events = events;
    this.#valveOutcomes = new ValveOutcomes(options.topics);
    const { signal } = this.#stopping;
    const followUp = new FollowUp({
      ...options,
      signal,
      happened: events.happened,
      changed: events.changed,
      testStarted: events.testStarted,
      offersChanged: events.offersChanged,
    });
    this.#confirmations = new Confirmations({
      ...options,
      tell: (outcome) => this.#tell(outcome),
    });
    const valveLanes = new ValveLanes({
      ...options,
      signal,
      confirmations: this.#confirmations,
      followUp,
      doubtful: () => events.changed('sonics'),
    });
    const changes = new Changes({ ...options, signal, followUp });
    this.#commander = new Commander({
      ...options,
      signal,
      carryOut: events.ordered,
      moveValve: (errand) => valveLanes.move(errand),
      change: (errand) => changes.take(errand),
      tell: (outcome) => this.#tell(outcome),
    });
    this.#requests = new Requests({
      ...options,
      signal,
      answers: new Answers(options.connection, options.log),
      followUp,
      moveValve: (errand) => valveLanes.move(errand),
      tell: (outcome) => this.#ended(outcome),
    });
  }

  /** Takes a message of the broker, which may be a command, a request, or neither. */
  take(message: BrokerMessage): void {
    this.#requests.take(message);
    this.#commander.take(message);
  }

  /** To be called before each connection's messages: the broker tells anew what it keeps, and may have lost it. */
  forgetKept(): void {
    this.#commander.forgetKept();
  }

  /** How the commands to valves have ended so far. */
  get valveOutcomes(): Readonly<Record<ValveOutcome, number>> {
    return this.#valveOutcomes.counts;
  }

  /** Ends what is under way, and refuses what still comes. */
  stop(): void {
    this.#stopping.abort(new GivenUp(unansweredWords, false));
    this.#requests.stop();
    this.#confirmations.stop();
  }

  /** The outcome of a command at a device's topic; a request has its own answer. */
  #tell(outcome: Outcome): void {
    const { topics, store, log } = this.#options;
    const { topic, status, reason } = outcome;
    const hasFailed = status === 'error' || status === 'refused';
    const target = topics.parse(topic);
    if (hasFailed) {
      const isDevice = target && target.kind !== 'bridge' && target.kind !== 'incident';
      const name = isDevice ? store.label(target.kind, target.id) : topic;
      const ending = status === 'refused' ? 'rejected' : 'failed';
      log.warn({ topic, device: target?.id }, `Command for ${name} ${ending}: ${reason}`);
    }
    this.#ended(outcome);
    if (!hasFailed || !target || target.kind === 'incident') return;
    const { kind, id } = target;
    if (kind === 'bridge' || store.view(kind, id)) this.#events.unchanged(kind, id);
  }

  #ended(outcome: Outcome): void {
    this.#valveOutcomes.note(outcome);
    this.#events.ended(outcome);
  }
}
