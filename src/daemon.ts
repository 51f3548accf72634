import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Random } from './base/backoff.ts';
import { type Clock, sleep, systemClock } from './base/clock.ts';
import { growYoungGeneration } from './base/garbage.ts';
import type { Log } from './base/log.ts';
import type { Secrets } from './base/secrets.ts';
import { singleFlight } from './base/singleFlight.ts';
import { listenMessage } from './base/systemErrors.ts';
import { homepage, version } from './base/version.ts';
import type { BrokerFinder, Connect } from './broker/clientOptions.ts';
import { Connection } from './broker/connection.ts';
import type { EmbeddedBroker } from './broker/embedded.ts';
import { Mirror } from './broker/mirror.ts';
import { CloudClient, type CloudClientOptions } from './cloud/client.ts';
import { Outcomes } from './commands/outcome.ts';
import { CommandRouter } from './commands/router.ts';
import { statusPageUrl } from './config/addresses.ts';
import type { Config } from './config/schema.ts';
import { readSecret, redactedConfig } from './config/secrets.ts';
import { HealthMonitor } from './health/healthMonitor.ts';
import { showLife } from './health/liveness.ts';
import { snapshotsOf } from './health/snapshots.ts';
import { missingPermission } from './homeassistant/command.ts';
import type { DiscoveredDevice } from './homeassistant/dashboard.ts';
import type { HttpServer } from './http/httpServer.ts';
import { bridgeOptions, cloudOptions, rereadPassword, topicsOf } from './partOptions.ts';
import { Poller } from './polling/poller.ts';
import { bridgeEvents } from './publishing/bridgeEvents.ts';
import { BridgeState } from './publishing/bridgeState.ts';
import { DiscoveryMessages } from './publishing/discoveryMessages.ts';
import { warnOfFormerTopics } from './publishing/formerTopics.ts';
import { IncidentEvents } from './publishing/incidentEvents.ts';
import { keepPresent } from './publishing/presence.ts';
import { Publisher } from './publishing/publisher.ts';
import { Recovery } from './publishing/recovery.ts';
import { readRetained } from './publishing/retainedMessages.ts';
import type { Disk } from './state/disk.ts';
import { sessionMemory } from './state/sections.ts';
import { StateFile } from './state/stateFile.ts';
import { Store } from './store/store.ts';
import type { WebhookReceiver } from './webhook/webhookReceiver.ts';

/** After this time, in ms, the bridge counts as started, even if the cloud or the broker is unreachable. */
const startingMs = 10_000;

/** So many sonics are worth more memory. */
const largeAccount = 500;

/** Replaces the machine's own clock, disk and network, for example in a simulation. */
interface Surroundings {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly disk?: Disk;
  /** Replaces the connections to the cloud. */
  readonly dispatcher?: CloudClientOptions['dispatcher'];
  /** Replaces the connections to the broker. */
  readonly dial?: Connect;
  /** Finds the broker, instead of the address in the configuration. */
  readonly findBroker?: BrokerFinder | undefined;
}

/*
 * How the bridge is built. Each part receives the parts that it uses by name, and listens to their events. The poller
 * reads the cloud into the store. The store tells the publisher what has changed, and the publisher plans the retained
 * messages for it. Commands come from the connection, go to the cloud, and change the store. Health watches all of
 * these parts. At the start, `Daemon` tells the publisher how far the reading is: `lists`, `details`, `running`.
 */

/** Builds the parts in the order of their dependencies. Each gets by name what it uses. */
function buildParts(config: Config, log: Log, secrets: Secrets, surroundings: Surroundings) {
  const { clock = systemClock, random = Math.random, disk, dispatcher, dial, findBroker } = surroundings;
  const { cloud, homeassistant, valve, control, stale_after: staleAfterMs } = config;
  const { enabled: isHomeAssistantOn, status_topic: statusTopic, language } = homeassistant;
  const requestTimeoutMs = cloud.request_timeout;
  const topics = topicsOf(config);

  const account = { baseUrl: cloud.base_url, email: cloud.email };
  const state = new StateFile(config.data_dir, log, clock, disk, topics.base);
  const client = new CloudClient({
    ...cloudOptions(config, log, secrets, clock),
    random,
    dispatcher,
    memory: sessionMemory(state.kept, account),
    onPasswordChange: () => poller.refresh(),
  });
  const broker = bridgeOptions(config, secrets, clock, findBroker);
  const connection = new Connection(broker, clock, random, log, dial);
  const mirror = new Mirror(connection, log);

  const selection = config.filters.properties;
  const store = new Store({ selection, kept: state.kept, clock });
  const { schedules } = config;
  const { timezone } = schedules;
  const poller = new Poller({
    ...{ client, store, state, schedules, timezone, staleAfterMs, requestTimeoutMs },
    ...{ clock, random, log },
  });

  const pause = () => poller.setPaused(connection.isStandingStill);
  connection.on('lost', pause).on('failed', pause);
  const discovery = new DiscoveryMessages({
    ...{ connection, mirror, clock, log },
    onDue: (kind, id) => publisher.planOne(kind, id),
  });
  const health = new HealthMonitor({
    ...{ client, connection, mirror, state, store, poller, discovery, clock, log },
  });
  const shownConfiguration = redactedConfig(config);
  const isWatchOnly = !control.valves;
  const bridgeState = new BridgeState(
    { topics, state, shownConfiguration, isWatchOnly, client, store, poller, health, clock, log },
    () => publisher.wake(),
  );

  const outcomes = new Outcomes(topics, store, clock, log);
  const commands = new CommandRouter({
    ...{ topics, control, statusTopic, client, connection, store, poller, state, outcomes, clock, log },
    bridge: bridgeState,
    requestTimeoutMs,
    confirmTimeoutMs: valve.confirm_timeout,
    confirmIntervalMs: valve.confirm_interval,
  });

  const publisher: Publisher = new Publisher({
    context: {
      topics,
      version,
      homepage,
      language,
      statusPage: statusPageUrl(config),
      isDiscoveryOn: isHomeAssistantOn,
      moment: (propertyId) => ({
        bridge: bridgeState.facts,
        now: clock.now(),
        timezone: store.timezoneOf(propertyId) ?? timezone,
      }),
      offers: (operation) => missingPermission(operation, control) === null && client.isOffered(operation),
    },
    ...{ state, connection, mirror, store, poller, bridgeState, discovery, clock, log },
  });
  state.on('added', () => {
    store.keptChanged();
    publisher.wake();
  });
  const stopPresence = keepPresent({
    ...{ topics, statusTopic, connection, mirror, publisher, clock, random, log },
  });
  const publishEvent = bridgeEvents(topics, connection, store, health, clock, log);
  outcomes
    .on('outcome', (outcome) => publishEvent('command', outcome))
    .on('showAgain', (kind, id) => publisher.republishStates(kind, id))
    .on('offersChanged', () => publisher.planAll());
  const incidentEvents = new IncidentEvents({
    ...{ state, client, connection, store, poller, publishEvent, publisher, clock, log },
  });
  const recovery = new Recovery({ topics, state, connection, store, clock, log });
  connection.on('connected', async () => {
    if (connection.wasPutOut) await publisher.waitFor(recovery.readPauses());
    pause();
    publisher.republishAll();
  });

  const hasDeviceMetrics = config.http.device_metrics;
  const snapshots = snapshotsOf({
    ...{ client, connection, mirror, store, poller, health, outcomes, publisher, clock },
    ...{ hasDeviceMetrics, isWatchOnly },
  });
  const { subscriptions, clientId } = broker;
  return {
    ...{ topics, clock, random, state, client, connection, subscriptions, clientId, store, poller },
    ...{ health, bridgeState, commands, publisher, stopPresence, incidentEvents, recovery, snapshots },
  };
}

/** The running bridge: builds the parts, starts them, and stops them in the reverse order. */
export class Daemon {
  readonly #config: Config;
  readonly #log: Log;
  readonly #secrets: Secrets;
  readonly #parts: ReturnType<typeof buildParts>;
  readonly #stopping = new AbortController();
  #embedded: EmbeddedBroker | null = null;
  #http: HttpServer | null = null;
  /** Resolves once the devices were published on the broker for the first time. */
  readonly shown: Promise<void>;

  constructor(config: Config, log: Log, secrets: Secrets, surroundings: Surroundings = {}) {
    this.#config = config;
    this.#log = log;
    this.#secrets = secrets;
    this.#parts = buildParts(config, log, secrets, surroundings);
    this.shown = once(this.#parts.publisher, 'published').then(() => {});
  }

  /**
   * Starts everything. Resolves once the cloud has answered the first round of polls, also with an error. Rejects only if the embedded
   * broker cannot listen. An unreachable cloud or MQTT broker is no reason to reject.
   */
  async start(): Promise<void> {
    const { topics, state, client, connection, store, poller, clock } = this.#parts;
    const { health, bridgeState, commands, publisher, recovery } = this.#parts;
    // 1. What the others stand on: the built-in broker, and what survived the last run.
    if (this.#config.mqtt.embedded.enabled) await this.#startEmbedded();
    void this.#untilStarted().then(() => showLife(clock, this.#log, this.#stopping.signal));
    await state.open();
    void warnOfFormerTopics(topics, state, this.#log);
    // 2. The connections to both sides, and their health. Commands are accepted from now on.
    client.start(this.#stopping.signal);
    commands.start();
    connection.start();
    if (this.#config.http.listen) await this.#serveHttp(this.#config.http.listen);
    health.start();
    bridgeState.renewFigures();
    // 3. The lists are read, while the broker is asked what earlier runs have left there.
    const recovered = recovery.read().then(() => {
      publisher.planAll();
      poller.refreshDays();
    });
    const firstRead = once(poller, 'firstRead');
    const listed = poller.start();
    // 4. Once both are known, devices are published as far as the lists show them.
    const devices = Promise.all([recovered, firstRead]).then(async () => {
      await recovery.readListed(listed);
      poller.refreshDays();
      publisher.enter('details');
    });
    await listed;
    if (publisher.isStopped) return;
    if (store.counts().sonics >= largeAccount) growYoungGeneration();
    // 5. The details are read: settings, measured values, usage and pressure tests.
    await poller.startDetails();
    if (publisher.isStopped) return;
    bridgeState.renewFigures();
    // 6. From now on all is published, with discovery, and what is not there any more is removed.
    void devices.then(() => publisher.enter('running'));
  }

  /** The port on which HTTP is served; null if it is not. */
  get httpPort(): number | null {
    return this.#http?.port ?? null;
  }

  /** Cancels everything, publishes `offline` and disconnects, in at most two seconds and the time of the disk. */
  async stop(): Promise<void> {
    const { topics, state, connection, poller, health } = this.#parts;
    const { bridgeState, commands, publisher, stopPresence, incidentEvents } = this.#parts;
    await this.#http?.stop();
    incidentEvents.stop();
    stopPresence();
    publisher.stop();
    commands.stop();
    bridgeState.stop();
    health.stop();
    await poller.stop();
    this.#stopping.abort(new Error('sonic2mqtt is stopping'));
    await connection.stop([{ topic: topics.bridge('state'), payload: 'offline' }]);
    await state.close();
    await this.#embedded?.stop();
  }

  /** Starts the embedded broker. Its module is loaded only here, because most bridges use another broker. */
  async #startEmbedded(): Promise<void> {
    const { EmbeddedBroker } = await import('./broker/embedded.ts');
    const { embedded } = this.#config.mqtt;
    const { host, port } = embedded;
    const username = embedded.username ?? undefined;
    const broker = new EmbeddedBroker({
      host,
      port,
      username,
      password: rereadPassword(embedded, this.#secrets, this.#parts.clock),
      // A command that waits behind a client that does not read must not become too old.
      unreadMs: Math.min(2_500, this.#config.cloud.request_timeout / 2),
      // The bridge refuses commands with the retain flag. Without this, the embedded broker would clear the flag.
      retainAsPublished: { clientId: this.#parts.clientId, filters: this.#parts.subscriptions },
      log: this.#log,
    });
    try {
      this.#log.info(`Built-in MQTT broker: listening on ${host}:${await broker.start()}`);
    } catch (error) {
      throw new Error(`mqtt.embedded: ${listenMessage(error, host, port)}`);
    }
    this.#embedded = broker;
  }

  /** Starts the HTTP server. Its modules are loaded only here, because not every bridge serves HTTP. */
  async #serveHttp({ host, port }: { readonly host: string; readonly port: number }): Promise<void> {
    const { HttpServer } = await import('./http/httpServer.ts');
    const { createRoutes } = await import('./http/routes.ts');
    const { health, snapshots, clock, random } = this.#parts;
    const { only_from: onlyFrom } = this.#config.http;
    const webhook = await this.#createWebhook();
    const routes = createRoutes(snapshots, webhook, clock, this.#secrets, {
      dashboard: singleFlight(() => this.#dashboard()),
    });
    const address = { option: 'http.listen', host, port, onlyFrom };
    this.#http = new HttpServer({ ...address, routes, clock, random, log: this.#log });
    this.#http.on('problem', (message) => health.setHttpProblem(message));
    await this.#http.start();
  }

  /** The dashboard for Home Assistant; null if there is nothing to show. */
  async #dashboard(): Promise<string | null> {
    const { dashboardText, readDiscovered } = await import('./homeassistant/dashboard.ts');
    const { topics, publisher, connection } = this.#parts;
    const devices: DiscoveredDevice[] = [];
    const others: DiscoveredDevice[] = [];
    const note = (_: string, payload: string) => {
      const device = readDiscovered(payload, topics);
      if (device && !device.isOwn) others.push(device);
    };
    try {
      await readRetained(connection, [topics.discoveryFilter], note);
    } catch {
      // Without the messages of other bridges, an entity ID could belong to the valve of another account.
      return null;
    }
    for (const text of publisher.discoveryMessages()) {
      const device = readDiscovered(text, topics);
      if (device) devices.push(device);
      // Lets commands run in between.
      if (devices.length % 20 === 0) await nextTurn();
    }
    devices.push(...others);
    return dashboardText(devices, this.#config.homeassistant.language);
  }

  /** Null if the webhook has no secret. */
  async #createWebhook(): Promise<WebhookReceiver | null> {
    const { poller, clock } = this.#parts;
    const { webhook } = this.#config.http;
    const secret = readSecret(webhook, 'secret');
    const signingSecret = readSecret(webhook, 'signing_secret');
    if (secret === undefined) return null;
    const { webhookReceiver } = await import('./webhook/webhookReceiver.ts');
    const { earlyPolls } = await import('./webhook/earlyPoll.ts');
    return webhookReceiver(secret, signingSecret, earlyPolls(poller, clock), clock, this.#log);
  }

  /** Resolves once the devices were published, or after `startingMs`. */
  #untilStarted(): Promise<void> {
    const patience = sleep(this.#parts.clock, startingMs, this.#stopping.signal).catch(() => undefined);
    return Promise.race([this.shown, patience]);
  }
}
