import { EventEmitter } from 'node:events';
import { backoffMs } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { Retained } from '../broker/retained.ts';
import { type DiscoveryPlan, viewId } from '../homeassistant/discovery.ts';
import {
  type DevicePlan,
  type Message,
  type PlanContext,
  planDevice,
  planIncident,
  planUnread,
} from '../homeassistant/plan.ts';
import { statesPath } from '../homeassistant/topics.ts';
import { cloudKinds, type DeviceKind, type DeviceView, kindLabels } from '../model/devices.ts';
import type { StateFile } from '../state/stateFile.ts';
import type { DeviceKey, Dirty } from '../store/changes.ts';
import type { Store } from '../store/store.ts';
import type { BridgeState } from './bridgeState.ts';
import type { Cleanup } from './cleanup.ts';
import type { DiscoveryMessages } from './discoveryMessages.ts';

/**
 * What is published. `lists`: while the lists are read, only the messages about the bridge. `details`: also the
 * devices, but a discovery message waits for the details that decide about its entities. `running`: everything.
 * `stopped`: nothing new.
 */
type PublishingPhase = 'lists' | 'details' | 'running' | 'stopped';

interface PublisherEvents {
  /** The broker has accepted or refused everything that was to be published. */
  readonly published: [];
}

/** What the publisher works with. */
interface PublisherParts {
  readonly context: PlanContext;
  readonly state: StateFile;
  readonly connection: Connection;
  readonly retained: Retained;
  readonly store: Store;
  readonly bridgeState: BridgeState;
  readonly discovery: DiscoveryMessages;
  readonly cleanup: Cleanup;
  /** Why another bridge uses these topics, as a sentence; null if no other bridge does. */
  readonly otherBridges: { readonly problem: string | null };
  readonly clock: Clock;
  readonly log: Log;
}

/** The waits before refused messages are published again, in ms. */
const refusalBackoff = { firstMs: 5_000, longestMs: 600_000 };

/**
 * Keeps the retained messages up to date. It is woken by changes in the store or of the bridge itself, by a new
 * connection, and by a delayed discovery message. Each pass plans the devices that changed and publishes the
 * differences. The messages `cloud` and `state` of the bridge become `online` only after the devices, so that no old
 * value ever looks available. After a pass that leaves nothing to publish, `Cleanup` deletes messages that no device
 * needs.
 */
export class Publisher extends EventEmitter<PublisherEvents> {
  readonly #parts: PublisherParts;
  #phase: PublishingPhase = 'lists';
  #hasShownDevices = false;
  #isAllWanted = false;
  #isUnreadWanted = false;
  #isWanted = false;
  #running: Promise<void> | null = null;
  /** The facts of the bridge in the last published summaries, as JSON. */
  #summaryFacts = '';
  #refusals = 0;
  #cancelRetry: (() => void) | null = null;

  constructor(parts: PublisherParts) {
    super();
    this.#parts = parts;
    const { context, connection, retained, store, bridgeState, discovery, cleanup } = parts;
    discovery.on('due', ({ kind, id }) => {
      if (kind !== 'bridge') store.touch(kind, id);
      this.wake();
    });
    store.on('change', () => {
      if (this.isShowingDevices) this.wake();
    });
    store.on('pause', () => {
      this.#isUnreadWanted = true;
      this.wake();
    });
    bridgeState.on('changed', () => this.wake());
    retained.on('refusal', (topic) => {
      const { kind, id } = context.topics.parse(topic) ?? { kind: 'bridge' };
      if (kind !== 'signal' && kind !== 'sonic') return;
      store.touch(kind, id);
      this.wake();
    });
    connection.on('connected', () => {
      if (this.#hasShownDevices) cleanup.hearAnew();
      this.publishAll();
    });
  }

  /** Whether the bridge stops, so that devices are no longer published. */
  get isStopped(): boolean {
    return this.#phase === 'stopped';
  }

  /** Whether devices are published, not only the bridge. */
  get isShowingDevices(): boolean {
    return this.#phase === 'details' || this.#phase === 'running';
  }

  /** Whether devices were ever published. */
  get hasShownDevices(): boolean {
    return this.#hasShownDevices;
  }

  /** Enters the next phase. Call this when the data of the current phase was read once, or takes long. */
  enter(phase: 'details' | 'running'): void {
    if (this.isStopped) return;
    this.#phase = phase;
    this.#parts.store.touchAll();
    this.publishFound();
  }

  /**
   * Call this after a scan. Devices that it found are shown as offline until they are read, and stale messages are
   * deleted.
   */
  publishFound(): void {
    this.#isUnreadWanted = true;
    this.#parts.cleanup.isDue = true;
    this.wake();
  }

  /** Publishes everything again, because the broker may have lost it or Home Assistant has started. */
  publishAll(): void {
    this.#isAllWanted = true;
    this.wake();
  }

  /** Publishes the states of a device's entities again, so that the sender of a failed command sees the true state. */
  showAgain(kind: DeviceKind, id: string): void {
    const { context, retained, store } = this.#parts;
    retained.markUnknown(context.topics.below(kind, id, statesPath));
    if (kind !== 'bridge') store.touch(kind, id);
    this.wake();
  }

  /** Plans all devices again, because the cloud no longer offers an operation and its entities must go. */
  offersChanged(): void {
    this.#parts.store.touchAll();
    this.wake();
  }

  /** The discovery messages of all shown devices, in the order in which they are published. */
  *discoveryMessages(): Generator<string> {
    const { context, store, bridgeState } = this.#parts;
    const views = [
      bridgeState.view,
      ...cloudKinds.flatMap((kind) => store.ids(kind).map((id) => store.view(kind, id))),
    ];
    for (const view of views) {
      const plan = view && planDevice(view, context).discovery;
      if (plan) yield plan.write().text;
    }
  }

  /** Starts a pass that publishes what has changed, unless one is running. Then another pass follows it. */
  wake(): void {
    this.#isWanted = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
      if (this.#isWanted && this.#parts.connection.isConnected) this.wake();
    });
  }

  /** Stops publishing devices. */
  stop(): void {
    this.#phase = 'stopped';
    this.#parts.discovery.stop();
    this.#cancelRetry?.();
  }

  async #run(): Promise<void> {
    const { connection, retained, store, bridgeState, cleanup } = this.#parts;
    // Changes that are made together are published together.
    await Promise.resolve();
    while (this.#isWanted && connection.isConnected) {
      this.#isWanted = false;
      if (this.#isAllWanted) {
        this.#isAllWanted = false;
        retained.markAllUnknown();
        store.touchAll();
        this.#isUnreadWanted = true;
        cleanup.isDue = true;
      }
      // The value of the beginning counts: if it changes during the pass, this pass has not published the devices.
      const { isShowingDevices } = this;
      const { payload: cloudBefore } = bridgeState.cloud;
      this.#publishBridge();
      this.#touchSummaries();
      await this.#publishUnread();
      if (isShowingDevices) await this.#publishDirty(store.takeDirty());
      await retained.waitForAnswers();
      this.#publishOnline(isShowingDevices, cloudBefore);
      if (!isShowingDevices) continue;
      this.#hasShownDevices = true;
      this.emit('published');
      this.#retryRefused();
      if (!this.#isWanted) await cleanup.sweepIfDue();
    }
  }

  #publishBridge(): void {
    const { retained, bridgeState } = this.#parts;
    const { view, cloud, documents } = bridgeState;
    if (!this.isShowingDevices || cloud.payload === 'offline') retained.put(cloud.topic, 'offline');
    for (const { topic, payload } of documents) retained.put(topic, payload);
    this.#publishDevice(view);
  }

  /** Plans the properties again if a fact of the bridge in their summaries has changed. */
  #touchSummaries(): void {
    const { store, bridgeState } = this.#parts;
    const facts = JSON.stringify(bridgeState.facts);
    if (facts !== this.#summaryFacts) store.touchAll(['property']);
    this.#summaryFacts = facts;
  }

  /**
   * Makes the devices available, because the broker has them now. Does nothing if everything must be published again.
   * If the cloud has become fresh during the pass, the next pass first publishes the devices and then makes them
   * available.
   */
  #publishOnline(isShowingDevices: boolean, cloudBefore: string): void {
    if (this.#isAllWanted) return;
    const { retained, bridgeState } = this.#parts;
    const { cloud, state } = bridgeState;
    const mayBeOnline = cloudBefore === 'online' || cloud.payload === 'offline';
    if (isShowingDevices && mayBeOnline) retained.put(cloud.topic, cloud.payload);
    retained.put(state.topic, state.payload);
  }

  /** Publishes devices as offline if the state file or the broker names them but this run has not read them. */
  async #publishUnread(): Promise<void> {
    if (!this.#isUnreadWanted || this.isStopped) return;
    this.#isUnreadWanted = false;
    const { retained, store, cleanup } = this.#parts;
    for (const device of cleanup.namedDevices) {
      const { kind, id } = device;
      if (this.isShowingDevices && store.view(kind, id)) continue;
      await retained.waitForRoom();
      this.#publishUnreadDevice(device);
    }
  }

  #publishUnreadDevice({ kind, id }: DeviceKey): void {
    const { context, state, retained, store, cleanup } = this.#parts;
    const usage = kind === 'sonic' ? store.usage.of(id) : undefined;
    const record = kind === 'sonic' ? store.valveRecord(id) : undefined;
    const known = { usage, pause: store.pauses.get(id), record };
    const { messages, ...others } = planUnread(kind, id, known, context);
    // If only the broker names a device, it gets no topics besides those that a scan has found.
    const isAnnounced = state.kept.devices.has(`${kind}/${id}`);
    const there = messages.filter(({ topic }) => isAnnounced || retained.mayHave(topic));
    this.#putAll({ ...others, messages: there });
    cleanup.undecided.add(context.topics.discovery(kind, id));
  }

  async #publishDirty(dirty: Dirty): Promise<void> {
    const { context, retained, store, log } = this.#parts;
    for (const kind of cloudKinds) {
      for (const id of dirty[kind]) {
        await retained.waitForRoom();
        try {
          this.#publishCloudDevice({ kind, id });
        } catch (error) {
          // If one device cannot be planned, the others must still be shown.
          const name = store.label(kind, id);
          log.error({ err: error, device: id }, `Internal error: cannot publish ${kindLabels[kind]} ${name}`);
        }
      }
    }
    for (const id of dirty.incident) {
      await retained.waitForRoom();
      const incident = store.incidents.get(id);
      if (incident) {
        const { topic, payload } = planIncident(incident, context.topics);
        retained.put(topic, payload);
      } else if (!store.incidents.isUnplaced(id)) retained.clear(context.topics.incident(id));
    }
  }

  #publishCloudDevice(device: DeviceKey): void {
    const { state, store, cleanup } = this.#parts;
    const { kind, id } = device;
    const view = store.view(kind, id);
    if (view) {
      state.kept.devices.set(`${kind}/${id}`, true);
      this.#publishDevice(view);
    } else if (store.topology.isUnplaced(kind, id)) this.#publishUnreadDevice(device);
    // The account no longer has the device, or `filters.properties` now leaves out its property. If the filter changes
    // with a restart, the sweep of `Cleanup` deletes the devices that it leaves out, unless the filter selects no
    // property at all.
    else cleanup.delete(device);
  }

  #publishDevice(view: DeviceView): void {
    const { otherBridges, cleanup, context, retained } = this.#parts;
    const { discovery, messages: planned, ...others } = planDevice(view, context);
    const topics = [...planned.map(({ topic }) => topic), ...others.unwanted];
    const messages = topics.some((topic) => retained.isRefused(topic)) ? unavailable(planned) : planned;
    if (discovery) this.#publishDiscovery(discovery, view);
    // If discovery is switched off, the sweep deletes the message of an earlier run.
    else cleanup.undecided.delete(context.topics.discovery(view.kind, viewId(view)));
    // Another bridge uses these topics by mistake. It may say `online` after this bridge, for values that only this
    // bridge has read. So an unavailable device gets no values, only its `offline`.
    const [first] = messages;
    const isInTheWay = otherBridges.problem !== null && first?.payload === 'offline';
    this.#putAll({ ...others, messages: isInTheWay ? [first] : messages });
  }

  #putAll({ messages, unwanted, undecided }: Omit<DevicePlan, 'discovery'>): void {
    const { retained, cleanup } = this.#parts;
    for (const { topic, payload } of messages) {
      cleanup.undecided.delete(topic);
      retained.put(topic, payload);
    }
    for (const topic of unwanted) {
      cleanup.undecided.delete(topic);
      retained.clear(topic);
    }
    for (const topic of undecided) cleanup.undecided.add(topic);
  }

  #publishDiscovery(plan: DiscoveryPlan, view: DeviceView): void {
    const { discovery, cleanup } = this.#parts;
    const { topic } = plan;
    // Until it is known which entities the device has, the message of the last run stays.
    if (this.#phase !== 'running' && discovery.hasEntities(topic) && isUnread(view))
      cleanup.undecided.add(topic);
    else {
      cleanup.undecided.delete(topic);
      discovery.publish(plan, view);
    }
  }

  /** Publishes refused messages again after a while, even if nothing has changed. */
  #retryRefused(): void {
    const { retained, store, cleanup, clock } = this.#parts;
    if (retained.refusal === null) this.#refusals = 0;
    else if (this.#cancelRetry === null) {
      this.#refusals += 1;
      this.#cancelRetry = clock.after(
        backoffMs(refusalBackoff, this.#refusals, () => 1),
        () => {
          this.#cancelRetry = null;
          cleanup.isDue = true;
          store.touchAll();
          this.wake();
        },
      );
    }
  }
}

/** The same messages with `offline`, which comes first: the broker keeps an old value of the device. */
function unavailable(messages: readonly Message[]): readonly Message[] {
  const isAvailability = ({ topic }: Message) => topic.endsWith('/availability');
  const offline = messages.filter(isAvailability).map(({ topic }) => ({ topic, payload: 'offline' }));
  return [...offline, ...messages.filter((message) => !isAvailability(message))];
}

/** Whether details of the device were not read yet. Then it is unknown which entities it has. */
function isUnread(view: DeviceView): boolean {
  switch (view.kind) {
    case 'property':
      return view.settings === undefined || view.notifications === undefined;
    case 'signal':
      return view.hub === undefined;
    case 'sonic':
      return (
        view.signal === 'unknown' || [view.telemetry, view.usage, view.pressureTests].includes(undefined)
      );
    case 'bridge':
      return view.applianceCategories === undefined;
  }
}
