import type { Random } from './base/backoff.ts';
import type { Clock } from './base/clock.ts';
import type { Log } from './base/log.ts';
import { homepage, version } from './base/version.ts';
import type { Connection } from './broker/connection.ts';
import type { BrokerMessage } from './broker/message.ts';
import type { Retained } from './broker/retained.ts';
import type { Control } from './cloud/catalogue.ts';
import type { CloudClient } from './cloud/client.ts';
import type { OperationName } from './cloud/operations.ts';
import type { CommandTimes } from './commands/outcome.ts';
import { CommandRouter } from './commands/router.ts';
import type { BridgeAction } from './entities/row.ts';
import { HealthMonitor } from './health/healthMonitor.ts';
import type { MetricsSnapshot } from './health/metricsSnapshot.ts';
import { evaluateReadiness, type Readiness } from './health/readiness.ts';
import { type StatusSnapshot, statusSnapshot } from './health/statusSnapshot.ts';
import { missingPermission } from './homeassistant/command.ts';
import type { Topics } from './homeassistant/topics.ts';
import type { HealthStatus } from './model/devices.ts';
import type { Shard } from './model/shard.ts';
import { Poller, type PollerTimes } from './polling/poller.ts';
import {
  describeProgress,
  isJudged,
  type PollName,
  pollNames,
  vitalPolls,
  wasPolled,
} from './polling/pollStatus.ts';
import { BridgeEvents } from './publishing/bridgeEvents.ts';
import { BridgeState } from './publishing/bridgeState.ts';
import { Cleanup } from './publishing/cleanup.ts';
import { IncidentEvents } from './publishing/incidentEvents.ts';
import { OtherBridges } from './publishing/otherBridges.ts';
import { Publisher } from './publishing/publisher.ts';
import { WillGuard } from './publishing/willGuard.ts';
import type { StateFile } from './state/stateFile.ts';
import type { IncidentEvent } from './store/incidents.ts';
import { type DeviceEvent, Store } from './store/store.ts';
import { EarlyPoll } from './webhook/earlyPoll.ts';
import type { WebhookRegistration } from './webhook/webhookRegistration.ts';

export interface BridgeOptions {
  readonly topics: Topics;
  readonly control: Readonly<Record<Control, boolean>>;
  /** Names or ids of properties; empty selects all. */
  readonly selection: readonly string[];
  /** Which part of the properties is this bridge's. */
  readonly shard: Shard;
  readonly isHomeAssistantOn: boolean;
  readonly statusPage: string | null;
  /** Where Home Assistant says that it has started. */
  readonly statusTopic: string;
  /** Shown in `bridge/info`: the configuration without its secrets. */
  readonly shownConfiguration: unknown;
  readonly poller: PollerTimes;
  readonly commands: CommandTimes;
}

/** What the bridge works with. */
export interface BridgeParts {
  readonly client: CloudClient;
  readonly connection: Connection;
  readonly retained: Retained;
  readonly state: StateFile;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The contract of the webhook: so many early polls at most. */
const earlyPollEveryMs = 5_000;

/** How often a long first reading says how far it is. */
const progressEveryMs = 10_000;

/** Home Assistant is given its messages anew within this time of its birth, less than an event waits. */
const birthJitterMs = 1_500;

/** The cloud on one side, the broker on the other, and what is known in between. */
export class Bridge {
  readonly #options: BridgeOptions;
  readonly #parts: BridgeParts;
  readonly #store: Store;
  readonly #poller: Poller;
  readonly #commands: CommandRouter;
  readonly #publisher: Publisher;
  readonly #incidentEvents: IncidentEvents;
  readonly #cleanup: Cleanup;
  readonly #others: OtherBridges;
  readonly #health: HealthMonitor;
  readonly #bridgeState: BridgeState;
  readonly #willGuard: WillGuard;
  readonly #events: BridgeEvents;
  readonly #earlyPoll: EarlyPoll;
  readonly #stopping = new AbortController();
  #registration: WebhookRegistration | null = null;
  #trouble: string | null = null;
  #isShown = false;
  #connections = 0;
  #brokerLostAt: number | null = null;
  #isFirstRoundDone = false;
  #isFoundSaid = false;
  #cancelProgress: () => void = () => {};
  #isScanned = false;
  #wasCertain = false;
  #isStopped = false;
  #onShown: () => void = () => {};
  /** Resolves once the devices were shown on the broker for the first time. */
  readonly shown = new Promise<void>((resolve) => {
    this.#onShown = resolve;
  });
  #cancelBirth: () => void = () => {};

  constructor(options: BridgeOptions, parts: BridgeParts) {
    this.#options = options;
    this.#parts = parts;
    const { client, connection, retained, state, clock, random, log } = parts;
    const begunAt = clock.monotonic();
    // Worked out when it is asked for: the clock may have been set since.
    const startedAt = () => clock.now() - (clock.monotonic() - begunAt);
    // Two bridges may be started in one moment.
    const instanceId = Math.floor(random() * 2 ** 48).toString(16);
    this.#earlyPoll = new EarlyPoll(() => this.#pollIncidentsEarly(), earlyPollEveryMs, clock);
    this.#events = new BridgeEvents(connection, options.topics, clock, log);
    this.#others = new OtherBridges(
      options.topics,
      options.shard,
      (id) => id === instanceId,
      {
        met: () => {
          this.#publisher.insist(options.topics.bridge('info'));
          this.#lookAnew();
        },
        stopped: () => {
          this.#lookAnew();
          if (!this.#others.isAny) this.#cleanup.scan();
        },
      },
      clock,
    );
    this.#willGuard = new WillGuard(clock, () => {
      const topic = options.topics.bridge('state');
      log.debug(`The MQTT broker says offline at ${topic}: saying again that the bridge is there`);
      this.#publisher.insist(topic);
      this.#publisher.insist(options.topics.bridge('info'));
    });
    this.#store = new Store({
      selection: options.selection,
      shard: options.shard,
      memory: state,
      staleAfterMs: options.poller.staleAfterMs,
      clock,
    });
    this.#store.on('change', () => this.#publisher.devicesChanged());
    this.#store.on('device', (event) => this.#onDevice(event));
    this.#store.on('incident', (event) => this.#onIncident(event));
    this.#poller = new Poller({
      ...options.poller,
      client,
      store: this.#store,
      state,
      clock,
      random,
      log,
    });
    this.#poller.on('ended', (poll, isComplete) => this.#polled(poll, isComplete));
    this.#health = new HealthMonitor(
      {
        client,
        state,
        store: this.#store,
        records: () => this.#poller.statuses.records,
        isAllRead: () => this.#poller.statuses.progress.length === 0,
        brokerProblem: () => this.#brokerProblem,
        troubles: () => this.#troubles(),
      },
      {
        changed: () => this.#publisher.wake(),
        tell: (event, fields) => this.#events.tell(event, fields),
      },
      clock,
      log,
    );
    this.#bridgeState = new BridgeState({
      topics: options.topics,
      instanceId,
      startedAt,
      shownConfiguration: options.shownConfiguration,
      client,
      store: this.#store,
      poller: this.#poller,
      monitor: this.#health,
      onChange: () => this.#publisher.wake(),
      clock,
      log,
    });
    this.#commands = new CommandRouter({
      ...options.commands,
      topics: options.topics,
      control: options.control,
      statusTopic: options.statusTopic,
      client,
      connection,
      store: this.#store,
      poller: this.#poller,
      bridge: this.#bridgeState,
      otherBridges: this.#others,
      clock,
      log,
    });
    this.#publisher = new Publisher({
      store: this.#store,
      retained,
      connection,
      context: {
        topics: options.topics,
        version,
        homepage,
        statusPage: options.statusPage,
        isDiscoveryOn: options.isHomeAssistantOn,
        offers: (operation) => this.#offers(operation),
      },
      bridgePlan: () => this.#bridgeState.plan,
      state,
      others: this.#others,
      clock,
      log,
    });
    this.#publisher.on('published', () => this.#onPublished());
    this.#incidentEvents = new IncidentEvents({
      store: this.#store,
      state,
      publisher: this.#publisher,
      connection,
      topics: options.topics,
      isHomeAssistantOn: options.isHomeAssistantOn,
      // This machine's clock may be permanently wrong.
      startedAt: () => startedAt() - client.clockAheadMs,
      readSonics: () => this.#poller.runNow('sonics'),
      tell: (event, record) => this.#events.tell(event, record),
      clock,
      log,
    });
    this.#commands
      .on('outcome', (outcome) => this.#events.tell('command', outcome))
      .on('unchanged', (kind, id) => this.#publisher.showAgain(kind, id))
      .on('bridgeCommand', (order) => this.#carryOut(order))
      .on('offersChanged', () => this.#offersChanged());
    this.#cleanup = new Cleanup({
      store: this.#store,
      state,
      publisher: this.#publisher,
      announcer: this.#incidentEvents,
      retained,
      connection,
      topics: options.topics,
      shard: options.shard,
      staleAfterMs: options.poller.staleAfterMs,
      clock,
      log,
    });
    void this.#cleanup.scanned.then(() => {
      this.#isScanned = true;
      this.#showDevices();
    });
  }

  /** Asks the cloud for everything once, resolving after that, well or not, and then by the schedules. */
  async start(): Promise<void> {
    this.#sayProgress(null);
    this.#health.start();
    this.#bridgeState.renewFigures();
    await this.#poller.start();
    if (this.#isStopped) return;
    this.#isFirstRoundDone = true;
    this.#sayFound();
    this.#showDevices();
    await this.#poller.startDetails();
    if (this.#isStopped) return;
    this.#cancelProgress();
    this.#bridgeState.renewFigures();
    this.#publisher.detailsReady();
  }

  /** Stops asking and telling. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#earlyPoll.stop();
    this.#health.stop();
    this.#bridgeState.stop();
    this.#cancelProgress();
    this.#willGuard.stop();
    this.#cancelBirth();
    this.#stopping.abort(new Error('the bridge stops'));
    this.#commands.stop();
    this.#incidentEvents.stop();
    this.#cleanup.stop();
    this.#others.stop();
    this.#publisher.stop();
    await this.#poller.stop();
  }

  /** How the bridge fares, in a word; null until that is known. */
  get status(): HealthStatus | null {
    return this.#health.status;
  }

  /** How its two sides fare. */
  get readiness(): Readiness {
    const { connection } = this.#parts;
    const { status, isCloudFresh, cloudReason } = this.#health;
    const { records } = this.#poller.statuses;
    const readAt = Math.max(...vitalPolls.map((slice) => records[slice].lastSuccessAt ?? 0));
    return evaluateReadiness({
      cloud: {
        isFresh: isCloudFresh,
        status,
        reason: cloudReason,
        isTried: pollNames.some((slice) => wasPolled(records[slice])),
        isJudged: isJudged(records),
        readAt: readAt || null,
      },
      broker: {
        isConnected: connection.isConnected,
        trouble: connection.trouble,
        lostAt: this.#brokerLostAt,
        isShown: this.#isShown,
        isShowing: this.#publisher.isShowingDevices,
      },
    });
  }

  /** What it can tell in numbers, gathered when they are asked for. */
  get figures(): MetricsSnapshot {
    const { client, connection, retained } = this.#parts;
    const { open_incidents: openIncidents, ...devices } = this.#store.counts();
    return {
      readiness: this.readiness,
      schedules: pollNames.map((slice) => ({
        slice,
        lastSuccessAt: this.#poller.statuses.records[slice].lastSuccessAt,
        polls: this.#poller.statuses.counts(slice),
      })),
      requests: client.requestTotals,
      pollWaitMs: client.traffic().pollWaitMs,
      devices,
      openIncidents,
      valveCommands: this.#commands.valveOutcomes,
      published: connection.published,
      retainedTopics: retained.size,
    };
  }

  /** All that it knows, gathered when it is asked for. */
  get overview(): StatusSnapshot {
    const { clock } = this.#parts;
    const { status, reason } = this.#health;
    return statusSnapshot(
      { startedAt: this.#bridgeState.startedAt, status, reason, readiness: this.readiness },
      this.#poller.statuses.records,
      this.#poller.statuses.progress,
      this.#store,
      clock.now() - clock.monotonic(),
    );
  }

  /** From now on the settings of the properties are looked at after each reading of them. */
  useRegistration(registration: WebhookRegistration | null): void {
    this.#registration = registration;
  }

  /** What is wrong beside the cloud and the broker, in words, to be told in `bridge/health`; null once nothing is. */
  setTrouble(words: string | null): void {
    this.#trouble = words;
    this.#lookAnew();
  }

  /** Something may have happened, as the webhook says: looks at the incidents and the valves soon. */
  pollEarly(): void {
    this.#earlyPoll.ask();
  }

  #pollIncidentsEarly(): void {
    void this.#poller.runNow('incidents');
    this.#pollValvesEarly();
  }

  /** Where the budget allows it. */
  #pollValvesEarly(): void {
    if (this.#parts.client.traffic().pollWaitMs === 0) void this.#poller.runNow('sonics');
  }

  /** The broker is there: says what is wanted, and looks at what it has kept, or has got back from an old disk. */
  brokerConnected(): void {
    this.#connections += 1;
    this.#others.reconnected();
    this.#brokerLostAt = null;
    this.#commands.forgetRetained();
    // Health is judged first, so that nothing outdated is published.
    this.#lookAnew();
    this.#publisher.publishAll();
    this.#cleanup.connected();
  }

  /** There is no connection, and why is known by now. */
  brokerLost(): void {
    if (this.#connections > 0) this.#brokerLostAt ??= this.#parts.clock.now();
    this.#lookAnew();
  }

  /** The broker has said `offline` of a bridge that is here. */
  presumedDead(): void {
    this.#others.stopped(this.#options.topics.bridgeName);
    this.#willGuard.denied();
  }

  /** Takes a message from the broker. */
  brokerMessage(message: BrokerMessage): void {
    const { statusTopic, topics } = this.#options;
    const bridge = topics.bridgeNamed(message.topic);
    if (bridge !== null && message.topic === topics.ofBridge(bridge, 'info')) {
      this.#others.take(bridge, message, this.#connections === 1);
      return;
    }
    if (bridge !== null && message.topic === topics.ofBridge(bridge, 'state')) {
      if (message.payload === 'offline' && !message.isRetained) this.#others.stopped(bridge);
      return;
    }
    if (message.topic === statusTopic) {
      if (message.payload === 'online') this.#homeAssistantStarted();
      return;
    }
    this.#commands.handle(message);
  }

  /** Polls everything now, and tries to sign in again if the cloud had rejected that. */
  refresh(): void {
    this.#parts.client.signInNow();
    this.#poller.refresh();
  }

  get #brokerProblem(): string | null {
    const { connection } = this.#parts;
    if (connection.isConnected) return null;
    return `no connection to the MQTT broker: ${connection.trouble ?? 'none was made yet'}`;
  }

  /** What is wrong beside the cloud, in words. */
  #troubles(): string[] {
    return [this.#others.problem, this.#trouble].filter((each) => each !== null);
  }

  /** Before the first poll nobody is told anything yet. */
  #lookAnew(): void {
    if (this.#health.status !== null) this.#health.look();
  }

  #carryOut(order: BridgeAction): void {
    if (order.order === 'refresh') this.refresh();
    else {
      this.#parts.log.level = order.level;
      this.#publisher.wake();
    }
  }

  // ---- what the cloud said ------------------------------------------------------------------------------------

  #polled(slice: PollName, isWhole: boolean): void {
    if (slice === 'incidents' && isWhole && !this.#isStopped) this.#incidentEvents.listed();
    this.#health.look();
    this.#sayFound();
    this.#sweepOnceCertain();
    if (slice !== 'properties') return;
    void this.#registration?.look(this.#store);
  }

  /** Says what there is, once that is certain. */
  #sayFound(): void {
    if (this.#isFoundSaid || !this.#isFirstRoundDone || !this.#store.isCertain) return;
    this.#isFoundSaid = true;
    const { properties, signals, sonics, open_incidents: incidents } = this.#store.counts();
    this.#parts.log.info(
      `Found properties: ${properties}, signals: ${signals}, sonics: ${sonics}, open incidents: ${incidents}`,
    );
  }

  /** Says now and then how far the first reading is, as long as it goes on. */
  #sayProgress(before: string | null): void {
    const words = describeProgress(this.#poller.statuses.progress);
    if (words !== null && words !== before) this.#parts.log.info(`Reading the account: ${words}`);
    this.#cancelProgress = this.#parts.clock.after(progressEveryMs, () => this.#sayProgress(words));
  }

  #onDevice({ event, kind, record }: DeviceEvent): void {
    this.#events.tell(event, { kind, ...record });
    this.#incidentEvents.wake();
  }

  #onIncident({ event, record }: IncidentEvent): void {
    if (event === 'incident_opened') this.#incidentEvents.opened(record);
    else if (event === 'incident_moved') this.#incidentEvents.takeOver([record.id]);
    else {
      if (event === 'incident_closed') this.#incidentEvents.closed(record);
      this.#events.tell(event, record);
    }
    // A leak may have closed its valve. What is there at the start happened before.
    const isNews = event === 'incident_opened' || event === 'incident_closed';
    if (isNews && this.#isFirstRoundDone) this.#pollValvesEarly();
    this.#incidentEvents.wake();
  }

  /** What was left alone as long as nobody knew whether it is wanted may be stale. */
  #sweepOnceCertain(): void {
    if (this.#wasCertain || !this.#store.isCertain) return;
    this.#wasCertain = true;
    if (this.#publisher.isShowingDevices) this.#cleanup.scan();
  }

  #offers(operation: OperationName): boolean {
    return (
      missingPermission(operation, this.#options.control) === null &&
      this.#parts.client.availability(operation) === 'available'
    );
  }

  /** An operation is offered no more: said in `bridge/info`, and every device may lose entities. */
  #offersChanged(): void {
    this.#store.touchAll();
    this.#publisher.wake();
  }

  // ---- what the broker said and keeps -------------------------------------------------------------------------

  #homeAssistantStarted(): void {
    const { clock, random, log } = this.#parts;
    log.info('Home Assistant has started: publishing everything again');
    this.#incidentEvents.homeAssistantStarted();
    this.#cancelBirth();
    this.#cancelBirth = clock.after(birthJitterMs * random(), () => this.#publisher.publishAll());
  }

  #onPublished(): void {
    this.#incidentEvents.wake();
    this.#isShown = true;
    this.#onShown();
  }

  #showDevices(): void {
    const isReady = this.#isFirstRoundDone && this.#isScanned && !this.#isStopped;
    if (isReady && !this.#publisher.isShowingDevices) this.#publisher.devicesReady();
  }
}
