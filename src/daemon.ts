import type { Random } from './base/backoff.ts';
import { type Clock, sleep, systemClock } from './base/clock.ts';
import { listenProblem } from './base/listenProblem.ts';
import type { Log } from './base/log.ts';
import type { Secrets } from './base/secrets.ts';
import { Bridge } from './bridge.ts';
import type { BrokerFinder } from './broker/clientOptions.ts';
import type { Connect } from './broker/connect.ts';
import { Connection } from './broker/connection.ts';
import type { EmbeddedBroker } from './broker/embedded.ts';
import { Retained } from './broker/retained.ts';
import { CloudClient, type CloudClientOptions } from './cloud/client.ts';
import { statusPageUrl, webhookAddress } from './config/addresses.ts';
import type { Config } from './config/schema.ts';
import { readSecret, redactedConfig } from './config/secrets.ts';
import { serveLiveness, startingUp } from './health/liveness.ts';
import { commandFilters } from './homeassistant/command.ts';
import type { Topics } from './homeassistant/topics.ts';
import type { Listener } from './http/listener.ts';
import { brokerOptions, clientOptions, topicsOf } from './partOptions.ts';
import type { Disk } from './state/disk.ts';
import { StateFile } from './state/stateFile.ts';
import type { WebhookRegistration } from './webhook/webhookRegistration.ts';

/** A bridge that has shown nothing for so long may well run: its cloud or its broker is away. */
const startingMs = 10_000;

/** What a bridge runs on: the machine's own where nothing else is given, as by a simulation. */
export interface Surroundings {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly disk?: Disk;
  /** The way to the cloud. */
  readonly dispatcher?: CloudClientOptions['dispatcher'];
  /** The way to the broker. */
  readonly dial?: Connect;
  /** Says where the broker is, instead of the configuration. */
  readonly findBroker?: BrokerFinder | undefined;
}

/** The parts of a running bridge, built from the configuration, started in order, and stopped in reverse. */
export class Daemon {
  readonly #config: Config;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;
  readonly #secrets: Secrets;
  readonly #client: CloudClient;
  readonly #state: StateFile;
  readonly #connection: Connection;
  readonly #bridge: Bridge;
  readonly #topics: Topics;
  readonly #subscriptions: readonly string[];
  #embedded: EmbeddedBroker | null = null;
  #http: Listener | null = null;
  readonly #stopping = new AbortController();

  constructor(config: Config, log: Log, secrets: Secrets, surroundings: Surroundings = {}) {
    const { clock = systemClock, random = Math.random, disk, dispatcher, dial, findBroker } = surroundings;
    this.#config = config;
    this.#clock = clock;
    this.#random = random;
    this.#log = log;
    this.#secrets = secrets;
    this.#topics = topicsOf(config);
    this.#subscriptions = [
      ...commandFilters(this.#topics),
      this.#topics.requestFilter,
      config.homeassistant.status_topic,
    ];
    const account = { baseUrl: config.cloud.base_url, email: config.cloud.email };
    this.#state = new StateFile(config.data_dir, account, log, clock, disk, config.shard);
    this.#client = new CloudClient({
      ...clientOptions(config, log, secrets, clock),
      random,
      dispatcher,
      memory: {
        load: () => this.#state.session,
        save: (session) => this.#state.recordSession(session),
      },
      onPasswordChange: () => this.#bridge.refresh(),
    });
    this.#connection = new Connection(
      {
        ...brokerOptions(config, secrets, findBroker),
        will: { topic: this.#topics.bridge('state'), payload: 'offline' },
        overheard: this.#topics.liveBridgeFilters,
        subscriptions: this.#subscriptions,
      },
      clock,
      random,
      log,
      dial,
    );
    this.#bridge = new Bridge(
      {
        topics: this.#topics,
        control: config.control,
        selection: config.filters.properties,
        shard: config.shard,
        isHomeAssistantOn: config.homeassistant.enabled,
        statusPage: statusPageUrl(config),
        statusTopic: config.homeassistant.status_topic,
        shownConfiguration: redactedConfig(config),
        poller: {
          schedules: config.schedules,
          timezone: config.schedules.timezone,
          staleAfterMs: config.stale_after,
          requestTimeoutMs: config.cloud.request_timeout,
        },
        commands: {
          confirmTimeoutMs: config.valve.confirm_timeout,
          confirmIntervalMs: config.valve.confirm_interval,
          requestTimeoutMs: config.cloud.request_timeout,
        },
      },
      {
        client: this.#client,
        connection: this.#connection,
        retained: new Retained(this.#connection, log),
        state: this.#state,
        clock,
        random,
        log,
      },
    );
    this.#connection
      .on('connected', () => this.#bridge.brokerConnected())
      .on('lost', () => this.#bridge.brokerLost())
      .on('message', (message) => this.#bridge.brokerMessage(message))
      .on('presumedDead', () => this.#bridge.presumedDead());
  }

  /**
   * Starts everything, resolving after the first round of polls, well or not. Rejects only when the embedded broker
   * cannot listen: cloud and MQTT broker may be away.
   */
  async start(): Promise<void> {
    if (this.#config.mqtt.embedded.enabled) await this.#startEmbedded();
    await this.#serveHeartbeat();
    await this.#state.open();
    this.#client.start(this.#stopping.signal);
    this.#connection.start();
    if (this.#config.http.listen) await this.#serveHttp(this.#config.http.listen);
    await this.#bridge.start();
  }

  /** Resolves once the devices were shown on the broker for the first time. */
  get shown(): Promise<void> {
    return this.#bridge.shown;
  }

  /** The port at which HTTP is served; null while it is not. */
  get httpPort(): number | null {
    return this.#http?.port ?? null;
  }

  /** Gives up what is under way, says `offline` and disconnects; within two seconds at most, and what the disk takes. */
  async stop(): Promise<void> {
    await this.#http?.stop();
    await this.#bridge.stop();
    this.#stopping.abort(new Error('the bridge stops'));
    await this.#connection.stop([{ topic: this.#topics.bridge('state'), payload: 'offline' }]);
    await this.#state.close();
    await this.#embedded?.stop();
  }

  /** Loaded only where it is wanted: most bridges have a broker elsewhere. */
  async #startEmbedded(): Promise<void> {
    const { EmbeddedBroker } = await import('./broker/embedded.ts');
    const { embedded } = this.#config.mqtt;
    const { host, port } = embedded;
    const username = embedded.username ?? undefined;
    const broker = new EmbeddedBroker({
      host,
      port,
      username,
      password: readSecret(embedded, 'password'),
      // A command with the retain flag is refused, which the bridge could not see otherwise.
      retainAsPublished: { clientId: this.#config.mqtt.client_id, filters: this.#subscriptions },
    });
    try {
      this.#log.info(`The embedded MQTT broker listens on ${host}:${await broker.start()}`);
    } catch (error) {
      throw new Error(`mqtt.embedded: ${listenProblem(error, host, port)}`);
    }
    this.#embedded = broker;
  }

  /** Loaded only where it is wanted. */
  async #serveHttp({ host, port }: { readonly host: string; readonly port: number }): Promise<void> {
    const { createHttp } = await import('./http/service.ts');
    const { webhook, only_from: onlyFrom } = this.#config.http;
    const secret = readSecret(webhook, 'secret');
    this.#bridge.useRegistration(await this.#createRegistration());
    const signingSecret = readSecret(webhook, 'signing_secret');
    const delivered = () => this.#bridge.pollEarly();
    this.#http = createHttp(
      {
        host,
        port,
        onlyFrom,
        onProblem: (words) => this.#bridge.setTrouble(words),
        webhook: secret === undefined ? null : { secret, signingSecret, delivered },
      },
      {
        readiness: () => this.#bridge.readiness,
        figures: () => this.#bridge.figures,
        overview: () => this.#bridge.overview,
      },
      this.#clock,
      this.#random,
      this.#log,
      this.#secrets,
    );
    await this.#http.start();
  }

  async #createRegistration(): Promise<WebhookRegistration | null> {
    const url = webhookAddress(this.#config);
    if (url === null) return null;
    const { WebhookRegistration } = await import('./webhook/webhookRegistration.ts');
    const options = { url, shownUrl: this.#secrets.hideInData(url), signal: this.#stopping.signal };
    return new WebhookRegistration(this.#client, options, this.#clock, this.#log);
  }

  /** The container's health check; the process works for as long as it answers. */
  async #serveHeartbeat(): Promise<void> {
    const name = process.env['HEARTBEAT_SOCKET'];
    if (!name) return;
    let isStarting = true;
    const { signal } = this.#stopping;
    const patience = sleep(this.#clock, startingMs, signal).catch(() => undefined);
    void Promise.race([this.shown, patience]).then(() => {
      isStarting = false;
    });
    const status = () => (isStarting ? null : this.#bridge.status) ?? startingUp;
    try {
      await serveLiveness(name, status, signal);
    } catch (error) {
      this.#log.warn(`The health check ${name} is not served: ${String(error)}`);
    }
  }
}
