import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { version } from '../base/version.ts';
import type { CloudClient } from '../cloud/client.ts';
import type { HealthMonitor } from '../health/healthMonitor.ts';
import type { Topics } from '../homeassistant/topics.ts';
import type { BridgeView } from '../model/devices.ts';
import type { Poller } from '../polling/poller.ts';
import type { Store } from '../store/store.ts';
import { InfoDocument } from './infoDocument.ts';
import type { BridgePlan } from './publisher.ts';

export interface BridgeStateOptions {
  readonly topics: Topics;
  /** Tells this run of the bridge from every other. */
  readonly instanceId: string;
  /** When the bridge was started, in ms since 1970, by the clock as it is when that is asked for. */
  readonly startedAt: () => number;
  /** Without its secrets. */
  readonly shownConfiguration: unknown;
  readonly client: CloudClient;
  readonly store: Store;
  readonly poller: Poller;
  readonly monitor: HealthMonitor;
  /** There is something new to publish. */
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Figures that change with every poll are published so often, lest each poll publish them. */
const figuresEveryMs = 60_000;

/** What the bridge says of itself, to be retained: the cloud's word, its own, its health, `info` and its entities. */
export class BridgeState {
  readonly #options: BridgeStateOptions;
  readonly #info: InfoDocument;
  #figures: { readonly lastUpdate: string | null; readonly requestsLastHour: number } = {
    lastUpdate: null,
    requestsLastHour: 0,
  };
  #cancelTimer: () => void = () => {};

  constructor(options: BridgeStateOptions) {
    this.#options = options;
    this.#info = new InfoDocument(options.instanceId, options.startedAt, options.shownConfiguration);
  }

  stop(): void {
    this.#cancelTimer();
  }

  /** When the bridge was started as it is told, in ms since 1970. */
  get startedAt(): number {
    return this.#info.startedAt;
  }

  get view(): BridgeView {
    const { monitor, store, log } = this.#options;
    return {
      kind: 'bridge',
      incidents: store.unassignedIncidents,
      possibleIncidents: [],
      areIncidentsKnown: store.areIncidentsKnown && monitor.isCloudFresh,
      version,
      status: monitor.status,
      isCloudFresh: monitor.isCloudFresh,
      logLevel: log.level,
      applianceCategories: store.applianceCategories,
      ...this.#figures,
    };
  }

  /** All of it, as it is now. */
  get plan(): BridgePlan {
    const { topics, monitor } = this.#options;
    const health = monitor.payload;
    return {
      view: this.view,
      cloud: { topic: topics.bridge('cloud'), payload: monitor.isCloudFresh ? 'online' : 'offline' },
      state: { topic: topics.bridge('state'), payload: 'online' },
      messages: [
        ...(health === null ? [] : [{ topic: topics.bridge('health'), payload: JSON.stringify(health) }]),
        { topic: topics.bridge('info'), payload: this.#infoText() },
      ],
    };
  }

  #infoText(): string {
    const { client, store } = this.#options;
    return this.#info.text({
      figures: this.#figures,
      counts: store.counts(),
      applianceCategories: store.applianceCategories,
      availability: (name) => client.availability(name),
    });
  }

  /** Renews the figures, now and from then on every minute. */
  renewFigures(): void {
    this.#cancelTimer();
    const { client, poller, clock, onChange } = this.#options;
    const { lastSuccessAt } = poller.statuses.records.sonics;
    this.#figures = {
      lastUpdate: lastSuccessAt === null ? null : new Date(lastSuccessAt).toISOString(),
      requestsLastHour: client.traffic().requestsLastHour,
    };
    this.#cancelTimer = clock.after(figuresEveryMs, () => {
      this.renewFigures();
      onChange();
    });
  }
}
