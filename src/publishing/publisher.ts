import { EventEmitter } from 'node:events';
import { backoffMs } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { Retained } from '../broker/retained.ts';
import { type DiscoveryPlan, viewId } from '../homeassistant/discovery.ts';
import {
  type DevicePlan,
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
 * What is published. While the `lists` are read, only the bridge itself. While the `details` are read, devices too, but a
 * discovery message waits for the details that decide about its entities. Everything when `running`, and nothing new when
 * `stopped`.
 */
type PublishingPhase = 'lists' | 'details' | 'running' | 'stopped';

interface PublisherEvents {
  /** Everything that was known is on the broker, or the broker has refused it. */
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
  /** Why two bridges use these topics, as a sentence; null while this one is alone. */
  readonly otherBridges: { readonly problem: string | null };
  readonly clock: Clock;
  readonly log: Log;
}

/** A broker that refuses messages gets them again after a while, and then less and less often. */
const refusalBackoff = { firstMs: 5_000, longestMs: 600_000 };

/**
 * Keeps the retained messages up to date. What has changed wakes it: the store, the bridge itself, a connection, or a
 * discovery message that has waited. Each pass plans the devices that changed and publishes the differences. The bridge's
 * `cloud` and `state` become `online` after the devices, so that no old value is ever available. After a pass that leaves
 * nothing to publish, `Cleanup` deletes messages that no device needs.
 */
export class Publisher extends EventEmitter<PublisherEvents> {
  readonly #parts: PublisherParts;
  #phase: PublishingPhase = 'lists';
  #hasShownDevices = false;
  #isAllWanted = false;
  #isUnreadWanted = false;
  #isWanted = false;
  #running: Promise<void> | null = null;
  /** The facts of the bridge in the summaries that were published last, as JSON. */
  #summaryFacts = '';
  #refusals = 0;
  #cancelRetry: (() => void) | null = null;

  constructor(parts: PublisherParts) {
    super();
    this.#parts = parts;
    const { connection, store, bridgeState, discovery, cleanup } = parts;
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
    connection.on('connected', () => {
      if (this.#hasShownDevices) cleanup.hearAnew();
      this.publishAll();
    });
  }

  /** Whether no devices are published any more, because the bridge stops. */
  get isStopped(): boolean {
    return this.#phase === 'stopped';
  }

  /** Whether devices are published, and not only the bridge. */
  get isShowingDevices(): boolean {
    return this.#phase === 'details' || this.#phase === 'running';
  }

  /** Whether devices were ever published. */
  get hasShownDevices(): boolean {
    return this.#hasShownDevices;
  }

  /** Publishes more from now on: what comes before was read once, or takes long. */
  enter(phase: 'details' | 'running'): void {
    if (this.isStopped) return;
    this.#phase = phase;
    this.#parts.store.touchAll();
    this.publishFound();
  }

  /** A scan has ended: devices that it has found are offline until they are read, and messages of no device are deleted. */
  publishFound(): void {
    this.#isUnreadWanted = true;
    this.#parts.cleanup.isDue = true;
    this.wake();
  }

  /** Publishes everything again: the broker may have lost it, or Home Assistant has started. */
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

  /** The cloud no longer offers an operation, so each device may lose entities. */
  offersChanged(): void {
    this.#parts.store.touchAll();
    this.wake();
  }

  /** The discovery messages of all devices that are shown, in the order in which they are published. */
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

  /** Publishes what changed. */
  wake(): void {
    this.#isWanted = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
      if (this.#isWanted && this.#parts.connection.isConnected) this.wake();
    });
  }

  /** Publishes no devices any more. */
  stop(): void {
    this.#phase = 'stopped';
    this.#parts.discovery.stop();
    this.#cancelRetry?.();
  }

  async #run(): Promise<void> {
    const { connection, retained, store, bridgeState, cleanup } = this.#parts;
    // Changes that come in one go are published in one go.
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
      // This may become true during the pass, which has not published the devices then.
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
   * Makes the devices available, because the broker has them now, unless everything is to be published again. If the cloud
   * has become fresh during the pass, the next pass publishes the devices and then makes them available.
   */
  #publishOnline(isShowingDevices: boolean, cloudBefore: string): void {
    if (this.#isAllWanted) return;
    const { retained, bridgeState } = this.#parts;
    const { cloud, state } = bridgeState;
    const mayBeOnline = cloudBefore === 'online' || cloud.payload === 'offline';
    if (isShowingDevices && mayBeOnline) retained.put(cloud.topic, cloud.payload);
    retained.put(state.topic, state.payload);
  }

  /** Publishes devices as offline that the state file or the broker names and this run has not read. */
  async #publishUnread(): Promise<void> {
    if (!this.#isUnreadWanted || this.isStopped) return;
    this.#isUnreadWanted = false;
    const { retained, store, cleanup } = this.#parts;
    for (const device of cleanup.namedDevices) {
      const { kind, id } = device;
      if (this.isShowingDevices && store.view(kind, id)) continue;
      // Another bridge may have taken over the device.
      if (store.topology.isShared && !cleanup.isFound(device)) continue;
      if (store.isLeftToOthers(kind, id) && !store.topology.isUnplaced(kind, id)) continue;
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
    // A device that only the broker names gets no more topics than a scan has found.
    const isAnnounced = state.devices.has(`${kind}/${id}`);
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
          // One device that cannot be planned must not keep the others from being shown.
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
      } else if (store.isLeftToOthers('incident', id)) retained.release(context.topics.incident(id));
      else retained.clear(context.topics.incident(id));
    }
  }

  #publishCloudDevice(device: DeviceKey): void {
    const { state, store, cleanup } = this.#parts;
    const { kind, id } = device;
    const view = store.view(kind, id);
    if (view) {
      state.recordDevice(`${kind}/${id}`);
      this.#publishDevice(view);
    } else if (store.isLeftToOthers(kind, id)) cleanup.leave(device);
    else if (store.topology.isUnplaced(kind, id)) this.#publishUnreadDevice(device);
    // The account has it no more, or it is now in a property that `filters.properties` leaves out. If a restart brings another
    // filter, the sweep of `Cleanup` deletes what that leaves out, unless the filter matches no property at all.
    else cleanup.delete(device);
  }

  #publishDevice(view: DeviceView): void {
    const { otherBridges, cleanup, context } = this.#parts;
    const { discovery, messages, ...others } = planDevice(view, context);
    if (discovery) this.#publishDiscovery(discovery, view);
    // Without Home Assistant, the sweep deletes the message of an earlier run.
    else cleanup.undecided.delete(context.topics.discovery(view.kind, viewId(view)));
    // A bridge that has come onto these topics by mistake may say `online` after this one, for values that it has read.
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
    // While it is unknown which entities the device has, the message of the last run stays.
    if (this.#phase !== 'running' && discovery.hasEntities(topic) && isUnread(view))
      cleanup.undecided.add(topic);
    else {
      cleanup.undecided.delete(topic);
      discovery.publish(plan, view);
    }
  }

  /** Publishes refused messages again after a while, even if nothing changes. */
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

/** Whether details of the device were not read yet, so that it is unknown which entities it has. */
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
