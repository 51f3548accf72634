import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { version } from '../base/version.ts';
import type { CloudClient } from '../cloud/client.ts';
import { operationNames } from '../cloud/operations.ts';
import type { HealthMonitor } from '../health/healthMonitor.ts';
import { cloudFacts } from '../health/sides.ts';
import type { Message, Topics } from '../homeassistant/topics.ts';
import type { BridgeFacts, BridgeView } from '../model/devices.ts';
import type { Poller } from '../polling/poller.ts';
import type { StateFile } from '../state/stateFile.ts';
import type { Store } from '../store/store.ts';

interface BridgeStateParts {
  readonly topics: Topics;
  readonly state: StateFile;
  readonly shownConfiguration: unknown;
  readonly isWatchOnly: boolean;
  readonly client: CloudClient;
  readonly store: Store;
  readonly poller: Poller;
  readonly health: HealthMonitor;
  readonly clock: Clock;
  readonly log: Log;
}

/** In ms. Home Assistant stores each value of these figures, which change with every poll. */
const figuresEveryMs = 5 * 60_000;

/** The retained messages about the bridge itself: `bridge/state`, `cloud`, `health`, `info`, and its entities. */
export class BridgeState {
  readonly #parts: BridgeStateParts;
  readonly #onChange: () => void;
  #figures: { readonly lastUpdate: string | null; readonly requestsLastHour: number } = {
    lastUpdate: null,
    requestsLastHour: 0,
  };
  #cancelTimer: () => void = () => {};

  constructor(parts: BridgeStateParts, onChange: () => void) {
    this.#parts = parts;
    this.#onChange = onChange;
    parts.health.on('changed', onChange);
  }

  renewFigures(): void {
    const { client, poller, clock } = this.#parts;
    const { lastSuccessAt } = poller.statuses.records.sonics;
    this.#figures = {
      lastUpdate: lastSuccessAt === null ? null : new Date(lastSuccessAt).toISOString(),
      requestsLastHour: client.traffic().requestsLastHour,
    };
    this.#cancelTimer();
    this.#cancelTimer = clock.after(figuresEveryMs, () => this.renewFigures());
    this.#onChange();
  }

  stop(): void {
    this.#cancelTimer();
  }

  get view(): BridgeView {
    const { store, health, log } = this.#parts;
    return {
      kind: 'bridge',
      incidents: store.incidents.unassigned,
      possibleIncidents: [],
      isReporting: true,
      areIncidentsFresh: store.incidents.areFresh && health.isCloudFresh,
      version,
      status: health.status,
      isCloudFresh: health.isCloudFresh,
      logLevel: log.level,
      applianceCategories: store.applianceCategories,
      ...this.#figures,
    };
  }

  /** The facts in the summary of a property. The broker counts as up, because readers get the summary through it. */
  get facts(): BridgeFacts {
    const { store, poller, health, isWatchOnly } = this.#parts;
    return {
      ...cloudFacts(health, poller.statuses.records, store),
      broker: { status: 'up', workedAt: null },
      isWatchOnly,
    };
  }

  /** Whether the data of the cloud is fresh. Devices are available if this message and `state` are both `online`. */
  get cloud(): Message {
    const { topics, health } = this.#parts;
    return { topic: topics.bridge('cloud'), payload: health.isCloudFresh ? 'online' : 'offline' };
  }

  get state(): Message {
    return { topic: this.#parts.topics.bridge('state'), payload: 'online' };
  }

  get documents(): Message[] {
    const { topics, state, health } = this.#parts;
    const { payload } = health;
    const { revision } = state;
    return [
      ...(payload === null ? [] : [{ topic: topics.bridge('health'), payload: JSON.stringify(payload) }]),
      { topic: topics.bridge('info'), payload: JSON.stringify(this.#info()) },
      ...(revision === null
        ? []
        : [{ topic: topics.bridge('memory'), payload: JSON.stringify({ revision }) }]),
    ];
  }

  #info(): object {
    const { client, store, health, shownConfiguration } = this.#parts;
    return {
      version,
      started_at: new Date(health.startedAt).toISOString(),
      last_update: this.#figures.lastUpdate,
      requests_last_hour: this.#figures.requestsLastHour,
      counts: store.counts(),
      appliance_categories: store.applianceCategories ?? null,
      operations: Object.fromEntries(operationNames.map((name) => [name, client.operationState(name)])),
      configuration: shownConfiguration,
    };
  }
}
