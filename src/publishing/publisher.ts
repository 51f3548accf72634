import { EventEmitter } from 'node:events';
import { backoffMs } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { Mirror } from '../broker/mirror.ts';
import { viewId } from '../homeassistant/discovery.ts';
import {
  type DevicePlan,
  type PlanContext,
  planDevice,
  planIncident,
  planUnread,
} from '../homeassistant/plan.ts';
import { type Message, statesPath } from '../homeassistant/topics.ts';
import { cloudKinds, type DeviceKind, type DeviceView, kindLabels } from '../model/devices.ts';
import type { Poller } from '../polling/poller.ts';
import type { StateFile } from '../state/stateFile.ts';
import { type PlannedKind, plannedKinds } from '../store/account.ts';
import type { DeviceKey, Dirty, Store } from '../store/store.ts';
import type { BridgeState } from './bridgeState.ts';
import { DeviceLog } from './deviceLog.ts';
import type { DiscoveryMessages } from './discoveryMessages.ts';
import { messageCount } from './retainedMessages.ts';

/**
 * What is published. `lists`: while the lists are read, only the messages about the bridge. `details`: also the
 * devices, but discovery messages wait for the details that decide about entities. `running`: everything.
 * `stopped`: nothing new.
 */
type PublishingPhase = 'lists' | 'details' | 'running' | 'stopped';

interface PublisherEvents {
  /** The broker has accepted or refused everything that was to be published. */
  readonly published: [];
}

interface PublisherParts {
  readonly context: PlanContext;
  readonly state: StateFile;
  readonly connection: Connection;
  readonly mirror: Mirror;
  readonly store: Store;
  readonly poller: Poller;
  readonly bridgeState: BridgeState;
  readonly discovery: DiscoveryMessages;
  readonly clock: Clock;
  readonly log: Log;
}

interface RecordKey {
  readonly kind: PlannedKind;
  readonly id: string;
}

/** The waits before refused messages are published again, in ms. */
const refusalBackoff = { firstMs: 5_000, longestMs: 600_000 };

/**
 * Keeps the retained messages up to date. It is woken by changes in the store or of the bridge itself, by a new
 * connection, and by a delayed discovery message. A pass is a list of steps:
 *
 * 1. The bridge, and `cloud` becomes `offline` if the data is not fresh.
 * 2. Devices that the state file names and that this run has not read become `offline`.
 * 3. The devices that changed.
 * 4. `cloud` and `state` become `online`, after the devices, so that no old value ever looks available.
 * 5. The messages of records that the account no longer has are deleted.
 *
 * The state file has every device and incident with messages on the broker (`kept.devices`), until the broker has deleted
 * them. What neither the state file nor the account has stays: it may belong to others.
 */
export class Publisher extends EventEmitter<PublisherEvents> {
  readonly #parts: PublisherParts;
  readonly #deviceLog: DeviceLog;
  #phase: PublishingPhase = 'lists';
  #hasShownDevices = false;
  #isAllWanted = false;
  #isNamedWanted = false;
  #isSweepWanted = false;
  #isWanted = false;
  #running: Promise<void> | null = null;
  /** The facts of the bridge in the last published summaries, as JSON. */
  #summaryFacts = '';
  /** By key: the topics of records of which the broker may still have messages that must go. */
  readonly #leaving = new Map<string, readonly string[]>();
  #refusals = 0;
  #cancelRetry: (() => void) | null = null;

  constructor(parts: PublisherParts) {
    super();
    this.#parts = parts;
    this.#deviceLog = new DeviceLog(parts.log);
    const { context, state, connection, mirror, store, poller } = parts;
    store.on('change', () => {
      if (this.isShowingDevices) this.wake();
    });
    store.on('pause', () => {
      this.#isNamedWanted = true;
      this.wake();
    });
    poller.on('ended', () => {
      if (this.#isSweepWanted && this.isShowingDevices) this.wake();
    });
    mirror.on('refusal', (topic) => {
      const { kind, id } = context.topics.parse(topic) ?? { kind: 'bridge', id: '' };
      if (kind === 'signal' || kind === 'sonic') this.publishAgain(kind, id);
    });
    connection.on('connected', () => this.publishAll());
    connection.on('message', ({ topic, isRetained }) => {
      // An earlier run, in which discovery was not switched off, may have left messages.
      if (!context.isDiscoveryOn && isRetained && context.topics.isDiscovery(topic)) mirror.found(topic);
    });
    state.on('added', () => {
      store.touchAll();
      this.publishNamed();
    });
  }

  get isStopped(): boolean {
    return this.#phase === 'stopped';
  }

  /** Whether devices are published, not only the bridge. */
  get isShowingDevices(): boolean {
    return this.#phase === 'details' || this.#phase === 'running';
  }

  get hasShownDevices(): boolean {
    return this.#hasShownDevices;
  }

  /** Enters the next phase. Call this when the data of the current phase was read once, or takes long. */
  enter(phase: 'details' | 'running'): void {
    if (this.isStopped) return;
    this.#phase = phase;
    this.#parts.store.touchAll();
    this.publishNamed();
  }

  /** The state file may name more devices. They are shown as offline until they are read, or deleted. */
  publishNamed(): void {
    this.#isNamedWanted = true;
    this.#isSweepWanted = true;
    this.wake();
  }

  /** Publishes everything again, because the broker may have lost it or Home Assistant has started. */
  publishAll(): void {
    this.#isAllWanted = true;
    this.wake();
  }

  /** Publishes the states of a device's entities again, so that the sender of a failed command sees the true state. */
  showAgain(kind: DeviceKind, id: string): void {
    const { context, mirror } = this.#parts;
    mirror.forget([context.topics.below(kind, id, statesPath)]);
    this.publishAgain(kind, id);
  }

  /** Plans the device again, and publishes what differs. */
  publishAgain(kind: DeviceKind, id: string): void {
    if (kind !== 'bridge') this.#parts.store.touch(kind, id);
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
      if (plan) yield plan.payload;
    }
  }

  wake(): void {
    if (this.isStopped) return;
    this.#isWanted = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
      if (this.#isWanted && this.#parts.connection.isConnected) this.wake();
    });
  }

  stop(): void {
    this.#phase = 'stopped';
    this.#parts.discovery.stop();
    this.#cancelRetry?.();
  }

  async #run(): Promise<void> {
    const { connection, mirror, store, bridgeState } = this.#parts;
    // Changes that are made together are published together.
    await Promise.resolve();
    while (this.#isWanted && connection.isConnected && !this.isStopped) {
      this.#isWanted = false;
      if (this.#isAllWanted) {
        this.#isAllWanted = false;
        mirror.forget();
        store.touchAll();
        this.#isNamedWanted = true;
        this.#isSweepWanted = true;
      }
      // The values of the beginning count: if one changes during the pass, this pass has not published the devices.
      const { isShowingDevices } = this;
      const wasFresh = bridgeState.cloud.payload === 'online';
      this.#publishBridge();
      await this.#publishUnread();
      if (isShowingDevices) await this.#publishDirty(store.takeDirty());
      await mirror.waitForAnswers();
      this.#publishOnline(isShowingDevices && wasFresh);
      if (!isShowingDevices) continue;
      this.#hasShownDevices = true;
      this.emit('published');
      this.#retryRefused();
      if (!this.#isWanted) await this.#sweep();
    }
  }

  #publishBridge(): void {
    const { mirror, store, bridgeState } = this.#parts;
    const { view, cloud, documents } = bridgeState;
    if (!this.isShowingDevices || cloud.payload === 'offline') mirror.want(cloud.topic, 'offline');
    for (const { topic, payload } of documents) mirror.want(topic, payload);
    this.#publishDevice(view);
    // The summaries of the properties have facts of the bridge.
    const facts = JSON.stringify(bridgeState.facts);
    if (facts !== this.#summaryFacts) store.touchAll(['property']);
    this.#summaryFacts = facts;
  }

  /**
   * Makes the devices available, because the broker has them now. Does nothing if everything must be published again, or
   * if the bridge has said that it is offline. If the cloud has become fresh during the pass, the next pass first
   * publishes the devices and then makes them available.
   */
  #publishOnline(mayBeOnline: boolean): void {
    if (this.#isAllWanted || this.isStopped) return;
    const { mirror, bridgeState } = this.#parts;
    const { cloud, state } = bridgeState;
    if (mayBeOnline) mirror.want(cloud.topic, cloud.payload);
    mirror.want(state.topic, state.payload);
  }

  async #publishUnread(): Promise<void> {
    if (!this.#isNamedWanted) return;
    this.#isNamedWanted = false;
    const { mirror } = this.#parts;
    for (const { kind, id } of this.#named()) {
      if (kind === 'incident' || this.#leaving.has(keyOf({ kind, id }))) continue;
      if (this.isShowingDevices && this.#isShown({ kind, id })) continue;
      await mirror.waitForRoom();
      this.#publishUnreadDevice({ kind, id });
    }
  }

  #publishUnreadDevice({ kind, id }: DeviceKey): void {
    const { context, state, mirror, store } = this.#parts;
    // A device that no run has shown has no topics yet.
    if (!state.kept.devices.has(keyOf({ kind, id }))) return;
    // Until the broker was read, it may know more than the state file, and its messages stay.
    const isBrokerRead = this.isShowingDevices || state.revision !== null;
    const isSonic = isBrokerRead && kind === 'sonic';
    const known = {
      usage: isSonic ? store.usage.of(id) : undefined,
      record: isSonic ? store.valveRecord(id) : undefined,
      pause: isBrokerRead ? store.pauseOf(id) : undefined,
    };
    const plan = planUnread(kind, id, known, context);
    // An earlier run may have left messages at the other topics.
    const isFirst = plan.messages.every(({ topic }) => !mirror.mayHave(topic));
    if (isFirst) for (const topic of [...plan.unwanted, ...plan.undecided]) mirror.found(topic);
    this.#putAll(plan);
  }

  async #publishDirty(dirty: Dirty): Promise<void> {
    const { context, mirror, store, log } = this.#parts;
    // Each of these is written to the disk at once. Together, they are one write.
    for (const kind of plannedKinds) {
      for (const id of dirty[kind]) if (this.#isShown({ kind, id })) this.#stay({ kind, id });
    }
    for (const kind of cloudKinds) {
      for (const id of dirty[kind]) {
        await mirror.waitForRoom();
        try {
          this.#publishCloudDevice({ kind, id });
        } catch (error) {
          // If one device cannot be planned, the others must still be shown.
          const name = store.label(kind, id);
          log.error({ err: error, device: id }, `Internal error: cannot publish ${kindLabels[kind]} ${name}`);
        }
      }
    }
    this.#deviceLog.write();
    for (const id of dirty.incident) {
      await mirror.waitForRoom();
      const incident = store.incidents.get(id);
      if (incident) {
        const { topic, payload } = planIncident(incident, context.topics);
        mirror.want(topic, payload);
      } else if (!store.incidents.isPlaceUnread(id)) this.#leave({ kind: 'incident', id });
    }
  }

  #publishCloudDevice(device: DeviceKey): void {
    const { store } = this.#parts;
    const { kind, id } = device;
    const isPlaceUnread = store.isPlaceUnread(kind, id);
    const view = isPlaceUnread ? null : store.view(kind, id);
    if (view) {
      this.#publishDevice(view);
      if (view.kind !== 'property') this.#deviceLog.note(view, store.label(kind, id));
    } else if (isPlaceUnread) this.#publishUnreadDevice(device);
    // The account no longer has the device, or `filters.properties` now leaves out its property. If the filter changes
    // with a restart, the last step deletes the devices that it leaves out, unless it selects no property at all.
    else {
      this.#leave(device);
      this.#deviceLog.forget(kind, id);
    }
  }

  #publishDevice(view: DeviceView): void {
    const { context, mirror } = this.#parts;
    const { discovery, messages: planned, unwanted } = planDevice(view, context);
    const topics = [...planned.map(({ topic }) => topic), ...unwanted];
    const messages = topics.some((topic) => mirror.isRefused(topic)) ? unavailable(planned) : planned;
    if (discovery) this.#publishDiscovery(discovery, view);
    else mirror.drop(context.topics.discovery(view.kind, viewId(view)));
    this.#putAll({ unwanted, messages });
  }

  #putAll({ messages, unwanted }: Pick<DevicePlan, 'messages' | 'unwanted'>): void {
    const { mirror } = this.#parts;
    for (const { topic, payload } of messages) mirror.want(topic, payload);
    for (const topic of unwanted) mirror.drop(topic);
  }

  #publishDiscovery(message: Message, view: DeviceView): void {
    const { context, mirror, discovery } = this.#parts;
    // Before the details are read, entities would appear and vanish. Only the bridge's own device is announced at once,
    // because it shows why the cloud cannot be read.
    if (this.#phase !== 'running' && view.kind !== 'bridge') return;
    // Home Assistant takes a message a moment later. Until then, it refuses a state that is a new option of a select.
    if (discovery.publish(message, view))
      mirror.forget([context.topics.below(view.kind, viewId(view), statesPath)]);
  }

  // ---- what goes ----------------------------------------------------------------------------------------------

  *#named(): Generator<RecordKey> {
    const { context, state } = this.#parts;
    for (const key of state.kept.devices.keys()) {
      const target = context.topics.parse(`${context.topics.base}/${key}`);
      if (target && target.kind !== 'bridge' && target.path === '')
        yield { kind: target.kind, id: target.id };
    }
  }

  #stay(record: RecordKey): void {
    this.#leaving.delete(keyOf(record));
    this.#parts.state.kept.devices.set(keyOf(record), true);
  }

  #leave(record: RecordKey): void {
    const { context, state, mirror, discovery } = this.#parts;
    const { topics } = context;
    const { kind, id } = record;
    if (!state.kept.devices.has(keyOf(record)) || this.#leaving.has(keyOf(record))) return;
    const availability = topics.below(kind, id, 'availability');
    if (mirror.mayHave(availability)) mirror.want(availability, 'offline');
    const documents = topics.documents(kind, id);
    const config = kind === 'incident' ? '' : topics.discovery(kind, id);
    // The discovery message comes first, because its deletion makes Home Assistant remove the device.
    const isOwn = kind !== 'incident' && discovery.forget(config, kind);
    const leaving = isOwn ? [config, ...documents] : documents;
    for (const topic of leaving) {
      mirror.found(topic);
      mirror.drop(topic);
    }
    this.#leaving.set(keyOf(record), leaving);
  }

  /**
   * Deletes the messages of records that the account no longer has. A record that this run has never read must be
   * missing from complete lists.
   */
  async #sweep(): Promise<void> {
    const { state, mirror, store, log } = this.#parts;
    let deleted = 0;
    if (this.#isSweepWanted && store.isComplete) {
      this.#isSweepWanted = false;
      for (const record of this.#named()) {
        if (this.#isShown(record) || this.#leaving.has(keyOf(record))) continue;
        if (this.#isGone(record)) {
          await mirror.waitForRoom();
          this.#leave(record);
          deleted += this.#leaving.get(keyOf(record))?.length ?? 0;
        } else this.#isSweepWanted = true;
      }
    }
    for (const topic of [...this.#leaving.values()].flat()) mirror.drop(topic);
    await mirror.waitForAnswers();
    for (const [key, topics] of this.#leaving) {
      if (topics.some((topic) => mirror.mayHave(topic))) continue;
      this.#leaving.delete(key);
      state.kept.devices.delete(key);
    }
    if (deleted === 0) return;
    const count = messageCount(deleted);
    log.info(
      store.filter.isOn
        ? `Deleted ${count} of removed devices, or of properties outside filters.properties`
        : `Deleted ${count} of removed devices`,
    );
  }

  #isShown({ kind, id }: RecordKey): boolean {
    const { store } = this.#parts;
    if (kind === 'incident') return store.incidents.get(id) !== null;
    return store.isShown(kind, id) && !store.isPlaceUnread(kind, id);
  }

  /**
   * Whether a record that is not shown should have no messages. If the filter selects no property, it is outdated or
   * misspelt. Then everything that the account still has stays until the filter is corrected.
   */
  #isGone({ kind, id }: RecordKey): boolean {
    const { store } = this.#parts;
    const isPlaceUnread =
      kind === 'incident' ? store.incidents.isPlaceUnread(id) : store.isPlaceUnread(kind, id);
    if (isPlaceUnread) return false;
    return !store.filter.isOn || store.filter.isMatched || !store.has(kind, id);
  }

  #retryRefused(): void {
    const { mirror, store, clock } = this.#parts;
    if (mirror.refusal === null) this.#refusals = 0;
    else if (this.#cancelRetry === null) {
      this.#refusals += 1;
      this.#cancelRetry = clock.after(
        backoffMs(refusalBackoff, this.#refusals, () => 1),
        () => {
          this.#cancelRetry = null;
          this.#isNamedWanted = true;
          store.touchAll();
          this.wake();
        },
      );
    }
  }
}

function keyOf({ kind, id }: RecordKey): string {
  return `${kind}/${id}`;
}

/** The same messages with `offline`, which comes first: the broker keeps an old value of the device. */
function unavailable(messages: readonly Message[]): readonly Message[] {
  const isAvailability = ({ topic }: Message) => topic.endsWith('/availability');
  const offline = messages.filter(isAvailability).map(({ topic }) => ({ topic, payload: 'offline' }));
  return [...offline, ...messages.filter((message) => !isAvailability(message))];
}
