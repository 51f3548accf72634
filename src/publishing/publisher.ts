import { EventEmitter } from 'node:events';
import { backoffMs, type Random } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import { homepage, version } from '../base/version.ts';
import type { Connection } from '../broker/connection.ts';
import type { BrokerMessage } from '../broker/message.ts';
import type { Retained } from '../broker/retained.ts';
import type { Control } from '../cloud/catalogue.ts';
import type { CloudClient } from '../cloud/client.ts';
import type { OtherBridges } from '../health/otherBridges.ts';
import { missingPermission } from '../homeassistant/command.ts';
import type { DiscoveryPlan } from '../homeassistant/discovery.ts';
import {
  type DevicePlan,
  type Message,
  type PlanContext,
  planDevice,
  planIncident,
  planUnread,
} from '../homeassistant/plan.ts';
import { statesPath, type Topics } from '../homeassistant/topics.ts';
import { type DeviceKind, type DeviceView, kindLabels } from '../model/devices.ts';
import type { Language } from '../model/language.ts';
import type { StateFile } from '../state/stateFile.ts';
import {
  type CloudDeviceKind,
  cloudKinds,
  type DeviceKey,
  type Dirty,
  type PlannedKind,
} from '../store/changes.ts';
import type { Store } from '../store/store.ts';
import type { BridgeState } from './bridgeState.ts';
import type { DiscoveryMessages } from './discoveryMessages.ts';

interface PublisherEvents {
  /** Everything that was known is on the broker, or the broker has refused it. */
  readonly published: [];
  /** A device now belongs to another bridge. */
  readonly left: [device: DeviceKey];
  /** Retained messages without a device were deleted. */
  readonly cleaned: [];
}

/** While another client says `offline`, the bridge says `online` no more often than this. */
const willSpacingMs = 5_000;

export interface PublisherParts {
  readonly topics: Topics;
  /** What MQTT may change. Entities for anything else are left out. */
  readonly control: Readonly<Record<Control, boolean>>;
  readonly isHomeAssistantOn: boolean;
  /** The topic at which Home Assistant publishes that it has started. */
  readonly statusTopic: string;
  readonly statusPage: string | null;
  /** Of the names of entities. */
  readonly language: Language;
  readonly state: StateFile;
  readonly client: CloudClient;
  readonly connection: Connection;
  readonly retained: Retained;
  readonly discovery: DiscoveryMessages;
  readonly store: Store;
  readonly otherBridges: OtherBridges;
  readonly bridgeState: BridgeState;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Everything is published again within this time of the start of Home Assistant: sooner than an incident event. */
const birthJitterMs = 1_500;

/** A broker that refuses messages gets them again after a while, and then less and less often. */
const refusalBackoff = { firstMs: 5_000, longestMs: 600_000 };

/**
 * Keeps the retained messages up to date. Each pass plans the devices that changed and publishes the differences. After
 * a pass that leaves nothing to publish, it deletes messages that no device needs.
 */
export class Publisher extends EventEmitter<PublisherEvents> {
  readonly #parts: PublisherParts;
  readonly #store: Store;
  readonly #retained: Retained;
  readonly #connection: Connection;
  readonly #context: PlanContext;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #discovery: DiscoveryMessages;
  /** Topics that stay as they are, because the data for them was not read yet. */
  readonly #undecided = new Set<string>();
  /** Devices of this bridge that a scan has found on the broker, as `kind/id`. */
  readonly #found = new Set<string>();
  /**
   * Topics that a scan has found, and this run has not published, until a list judges them that was requested at that time
   * or later, in ms of the monotonic clock: a message may tell of something newer than what was read before.
   */
  readonly #unjudged = new Map<string, number>();
  /** Since when no other bridge can have published here unheard. The first complete lists judge the first connection. */
  #hearsSince = Number.NEGATIVE_INFINITY;
  #areDevicesReady = false;
  #areDetailsReady = false;
  #hasShownDevices = false;
  #isAllWanted = false;
  #isUnreadWanted = false;
  #isSweepDue = false;
  #isWanted = false;
  #isStopped = false;
  #running: Promise<void> | null = null;
  #refusals = 0;
  #cancelRetry: (() => void) | null = null;
  #cancelBirth: () => void = () => {};
  #willCorrectedAt = Number.NEGATIVE_INFINITY;
  #cancelCorrection: () => void = () => {};

  constructor(parts: PublisherParts) {
    super();
    const { topics, control, client, connection, retained, store, otherBridges, bridgeState } = parts;
    this.#parts = parts;
    this.#store = store;
    this.#retained = retained;
    this.#discovery = parts.discovery;
    this.#connection = connection;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#context = {
      topics,
      version,
      homepage,
      language: parts.language,
      statusPage: parts.statusPage,
      isDiscoveryOn: parts.isHomeAssistantOn,
      offers: (operation) => missingPermission(operation, control) === null && client.isOffered(operation),
    };
    parts.discovery.on('due', ({ kind, id }) => {
      if (kind !== 'bridge') store.touch(kind, id);
      this.wake();
    });
    store.on('change', () => {
      if (this.#areDevicesReady) this.wake();
    });
    bridgeState.on('changed', () => this.wake());
    connection
      .on('connected', () => {
        if (this.#hasShownDevices) this.#hearsSince = this.#clock.monotonic();
        this.publishAll();
      })
      .on('message', (message) => this.#onMessage(message))
      .on('willPublished', () => this.#correctWill());
    let isOtherRunning = false;
    otherBridges
      .on('greet', () => this.#publishAgain('info'))
      .on('changed', () => {
        if (otherBridges.isAny) this.#hearsSince = this.#clock.monotonic();
        // What it has published here is not what this bridge shows.
        if (isOtherRunning && otherBridges.problem === null) this.publishAll();
        isOtherRunning = otherBridges.problem !== null;
      });
  }

  /** Whether devices are published, and not only the bridge. */
  get isShowingDevices(): boolean {
    return this.#areDevicesReady;
  }

  /** Whether devices were ever published. */
  get hasShownDevices(): boolean {
    return this.#hasShownDevices;
  }

  /** From now on devices are published too: the lists were read once, or cannot be read. */
  devicesReady(): void {
    if (this.#isStopped) return;
    this.#areDevicesReady = true;
    this.#isUnreadWanted = true;
    this.#isSweepDue = true;
    this.#store.touchAll();
    this.wake();
  }

  /** From now on discovery messages do not wait for details: they were read once, or take long. */
  detailsReady(): void {
    this.#areDetailsReady = true;
    this.#store.touchAll();
    this.wake();
  }

  /** A scan has found this message on the broker. Its device is offline until this run has read it. */
  found(topic: string): void {
    if (!this.#retained.mayHave(topic)) {
      // Incidents are read often, so that their next list can be waited for. Another bridge may not have been heard.
      const isIncident = this.#context.topics.parse(topic)?.kind === 'incident';
      this.#unjudged.set(topic, isIncident ? this.#clock.monotonic() : this.#hearsSince);
    }
    this.#retained.found(topic);
    const device = this.#deviceAt(topic);
    // While another bridge is heard on the same topics, what it shows is not taken from it.
    if (!device || this.#parts.otherBridges.isAny) return;
    this.#found.add(`${device.kind}/${device.id}`);
  }

  /** A scan has ended. Messages that no device needs are deleted. */
  sweepAgain(): void {
    this.#isUnreadWanted = true;
    this.#isSweepDue = true;
    this.wake();
  }

  /** A list was read, which may judge what was found before it was requested. */
  sweepIfDue(): void {
    if (this.#isSweepDue && this.#areDevicesReady) this.wake();
  }

  /** Publishes everything again: the broker may have lost it, or Home Assistant has started. */
  publishAll(): void {
    this.#isAllWanted = true;
    this.wake();
  }

  /** Publishes the states of a device's entities again, so that the sender of a failed command sees the true state. */
  showAgain(kind: DeviceKind, id: string): void {
    this.#retained.markUnknown(this.#context.topics.below(kind, id, statesPath));
    if (kind !== 'bridge') this.#store.touch(kind, id);
    this.wake();
  }

  /** The cloud no longer offers an operation, so each device may lose entities. */
  offersChanged(): void {
    this.#store.touchAll();
    this.wake();
  }

  /** Publishes what changed. */
  wake(): void {
    this.#isWanted = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
      if (this.#isWanted && this.#connection.isConnected) this.wake();
    });
  }

  /** Publishes nothing more. */
  stop(): void {
    this.#isStopped = true;
    this.#discovery.stop();
    this.#cancelRetry?.();
    this.#cancelBirth();
    this.#cancelCorrection();
    this.#areDevicesReady = false;
  }

  /** Home Assistant has started, and sets up its entities. A stored message is about an earlier start. */
  #onMessage({ topic, payload, isRetained }: BrokerMessage): void {
    const { statusTopic, random } = this.#parts;
    if (topic !== statusTopic || payload !== 'online' || isRetained) return;
    this.#log.info('Home Assistant has started. Publishing all devices');
    this.#discovery.homeAssistantStarted();
    this.#cancelBirth();
    this.#cancelBirth = this.#clock.after(birthJitterMs * random(), () => this.publishAll());
  }

  /**
   * A cluster may notice late that an earlier connection has ended, and then publishes its last will: `online` is
   * published again, but not as fast as another client that insists on `offline`.
   */
  #correctWill(): void {
    if (this.#isStopped) return;
    const waitMs = this.#willCorrectedAt + willSpacingMs - this.#clock.monotonic();
    this.#cancelCorrection();
    this.#cancelCorrection = this.#clock.after(Math.max(0, waitMs), () => {
      this.#willCorrectedAt = this.#clock.monotonic();
      // The will may be of a second bridge that has stopped before this one has heard it.
      this.#publishAgain('state', 'info', 'cloud', 'health', 'incidents', 'homeassistant');
    });
  }

  /** Publishes these topics of the bridge again. */
  #publishAgain(...paths: readonly string[]): void {
    for (const path of paths) this.#retained.markUnknown(this.#context.topics.bridge(path));
    this.wake();
  }

  async #run(): Promise<void> {
    // Changes that come in one go are published in one go.
    await Promise.resolve();
    while (this.#isWanted && this.#connection.isConnected) {
      this.#isWanted = false;
      if (this.#isAllWanted) {
        this.#isAllWanted = false;
        this.#retained.markAllUnknown();
        this.#store.touchAll();
        this.#isUnreadWanted = true;
        this.#isSweepDue = true;
      }
      // It may become so meanwhile, without the devices having been published.
      const areDevicesReady = this.#areDevicesReady;
      const { payload: cloudBefore } = this.#parts.bridgeState.cloud;
      this.#publishBridge();
      await this.#publishUnread();
      if (areDevicesReady) await this.#publishDirty(this.#store.takeDirty());
      await this.#retained.waitForAnswers();
      this.#publishOnline(areDevicesReady, cloudBefore);
      if (!areDevicesReady) continue;
      this.#hasShownDevices = true;
      this.emit('published');
      this.#retryRefused();
      if (this.#isSweepDue && this.#maySweep) await this.#sweep();
    }
  }

  /** Whether all that the account has is on the broker, so that what is there besides may be stale. */
  get #maySweep(): boolean {
    const isAllPublished = this.#store.isComplete && !this.#isWanted && this.#connection.isConnected;
    return isAllPublished && !this.#parts.otherBridges.isAny;
  }

  /**
   * Whether what is on the broker, and not wanted, may be deleted there. A filter that matches nothing is out of date, or
   * misspelt: once it is corrected, everything that the account still has must be as it was.
   */
  #isJudged(topic: string): boolean {
    if (this.#unjudged.has(topic)) return false;
    const { filter } = this.#store;
    if (!filter.isOn || filter.isMatched) return true;
    const records = this.#recordsAt(topic);
    return records.length > 0 && !records.some(({ kind, id }) => this.#store.has(kind, id));
  }

  /** What a topic may be of. A discovery message does not tell, but the broker has other messages of its device. */
  #recordsAt(topic: string): readonly { readonly kind: PlannedKind; readonly id: string }[] {
    const { topics } = this.#context;
    const target = topics.parse(topic);
    if (target) return target.kind === 'bridge' ? [] : [{ kind: target.kind, id: target.id }];
    const { isBridge, id } = topics.discovered(topic) ?? { isBridge: true, id: '' };
    if (isBridge) return [];
    const there = cloudKinds.filter((kind) => this.#retained.mayHave(topics.device(kind, id)));
    return (there.length > 0 ? there : cloudKinds).map((kind) => ({ kind, id }));
  }

  #publishBridge(): void {
    const { view, cloud, documents } = this.#parts.bridgeState;
    if (!this.#areDevicesReady || cloud.payload === 'offline') this.#put({ ...cloud, payload: 'offline' });
    for (const document of documents) this.#put(document);
    this.#publishDevice(view);
  }

  /**
   * Makes the devices available, now that the broker has them; unless all of it is wanted again, as on a new connection.
   * What has changed with the cloud's return is published in the pass that begins after it.
   */
  #publishOnline(areDevicesReady: boolean, cloudBefore: string): void {
    if (this.#isAllWanted) return;
    const { cloud, state } = this.#parts.bridgeState;
    if (areDevicesReady && (cloudBefore === 'online' || cloud.payload === 'offline')) this.#put(cloud);
    this.#put(state);
  }

  /** What the state file or the broker names, and this run has not read, is offline, and its values are unknown. */
  async #publishUnread(): Promise<void> {
    if (!this.#isUnreadWanted || this.#isStopped) return;
    this.#isUnreadWanted = false;
    const { topics } = this.#context;
    for (const key of this.#named) {
      const device = this.#deviceAt(`${topics.base}/${key}`);
      if (!device || (this.#areDevicesReady && this.#store.view(device.kind, device.id))) continue;
      // Another bridge may have taken it over since.
      if (this.#store.topology.isShared && !this.#found.has(key)) continue;
      if (this.#isOfOthers(device)) continue;
      await this.#retained.waitForRoom();
      this.#publishUnreadDevice(device);
    }
  }

  #isOfOthers({ kind, id }: DeviceKey): boolean {
    return this.#store.isLeftToOthers(kind, id) && !this.#store.topology.isUndecided(kind, id);
  }

  /** Devices that the state file or the broker names, as `kind/id`. */
  get #named(): ReadonlySet<string> {
    return new Set([...this.#parts.state.devices, ...this.#found]);
  }

  #publishUnreadDevice({ kind, id }: DeviceKey): void {
    const usage = kind === 'sonic' ? this.#store.usage.of(id) : undefined;
    const { messages, ...others } = planUnread(kind, id, usage, this.#context);
    // Of what only the broker names there may be no more than a scan has found.
    const isAnnounced = this.#parts.state.devices.has(`${kind}/${id}`);
    const there = messages.filter(({ topic }) => isAnnounced || this.#retained.mayHave(topic));
    this.#putAll({ ...others, messages: there });
    this.#undecided.add(this.#context.topics.discovery(kind, id));
  }

  /** The device of which a topic is; null for a topic of something else. */
  #deviceAt(topic: string): DeviceKey | null {
    const { topics } = this.#context;
    const target = topics.parse(topic);
    const kind = cloudKinds.find((each) => each === target?.kind);
    if (!target || !kind || !topics.documents(kind, target.id).includes(topic)) return null;
    return { kind, id: target.id };
  }

  async #publishDirty(dirty: Dirty): Promise<void> {
    for (const kind of cloudKinds) {
      for (const id of dirty[kind]) {
        await this.#retained.waitForRoom();
        const view = this.#store.view(kind, id);
        try {
          if (view) {
            this.#parts.state.recordDevice(`${kind}/${id}`);
            this.#publishDevice(view);
          } else if (this.#store.isLeftToOthers(kind, id)) this.#leave({ kind, id });
          else if (this.#store.topology.isUndecided(kind, id)) this.#publishUnreadDevice({ kind, id });
          else this.#deleteDevice(kind, id);
        } catch (error) {
          // One device that cannot be planned must not keep the others from being shown.
          const name = this.#store.label(kind, id);
          this.#log.error(
            { err: error, device: id },
            `Internal error: cannot publish ${kindLabels[kind]} ${name}`,
          );
        }
      }
    }
    for (const id of dirty.incident) {
      await this.#retained.waitForRoom();
      const incident = this.#store.incidents.get(id);
      if (incident) {
        const { topic, payload } = planIncident(incident, this.#context.topics);
        this.#retained.put(topic, payload);
      } else if (this.#store.isLeftToOthers('incident', id)) {
        this.#retained.release(this.#context.topics.incident(id));
      } else this.#retained.clear(this.#context.topics.incident(id));
    }
  }

  #publishDevice(view: DeviceView): void {
    const { discovery, ...documents } = planDevice(view, this.#context);
    if (discovery) this.#publishDiscovery(discovery, view);
    this.#putAll(documents);
  }

  #putAll({ messages, unwanted, undecided }: Omit<DevicePlan, 'discovery'>): void {
    for (const message of messages) {
      this.#undecided.delete(message.topic);
      this.#put(message);
    }
    for (const topic of unwanted) {
      this.#undecided.delete(topic);
      this.#retained.clear(topic);
    }
    for (const topic of undecided) this.#undecided.add(topic);
  }

  #put({ topic, payload }: Message): void {
    this.#retained.put(topic, payload);
  }

  #publishDiscovery(plan: DiscoveryPlan, view: DeviceView): void {
    const { topic } = plan;
    // While it is unknown which entities the device has, the message of the last run stays.
    if (!this.#areDetailsReady && this.#discovery.hasEntities(topic) && isUnread(view)) {
      this.#undecided.add(topic);
      return;
    }
    this.#undecided.delete(topic);
    this.#discovery.publish(plan, view);
  }

  /** Publishes refused messages again after a while, even if nothing changes. */
  #retryRefused(): void {
    if (this.#retained.refusal === null) this.#refusals = 0;
    else if (this.#cancelRetry === null) {
      this.#refusals += 1;
      this.#cancelRetry = this.#clock.after(
        backoffMs(refusalBackoff, this.#refusals, () => 1),
        () => {
          this.#cancelRetry = null;
          this.#isSweepDue = true;
          this.#store.touchAll();
          this.wake();
        },
      );
    }
  }

  #deleteDevice(kind: CloudDeviceKind, id: string): void {
    const topics = this.#forget({ kind, id });
    // Home Assistant drops the device with its discovery message; the rest follows.
    for (const topic of topics) this.#retained.clear(topic);
  }

  /** Forgets a device that another bridge shows or will show. Its messages stay. */
  #leave(device: DeviceKey): void {
    for (const topic of this.#forget(device)) this.#retained.release(topic);
    this.emit('left', device);
  }

  /** Forgets a device and returns its topics, that of its discovery message first if no other device has that. */
  #forget({ kind, id }: DeviceKey): string[] {
    const discovery = this.#context.topics.discovery(kind, id);
    const isOwn = this.#discovery.forget(discovery, kind);
    const topics = [...(isOwn ? [discovery] : []), ...this.#context.topics.documents(kind, id)];
    for (const topic of topics) this.#undecided.delete(topic);
    this.#found.delete(`${kind}/${id}`);
    this.#parts.state.forgetDevice(`${kind}/${id}`);
    return topics;
  }

  /** Deletes stale messages: after a whole pass, a topic whose content is still unknown has no device. */
  async #sweep(): Promise<void> {
    for (const [topic, since] of this.#unjudged) {
      const isRead = this.#recordsAt(topic).every(({ kind }) => this.#store.isReadSince(kind, since));
      if (isRead) this.#unjudged.delete(topic);
    }
    const isAnyKept = this.#findVanished();
    const unwanted = this.#retained.unknownTopics().filter((topic) => !this.#undecided.has(topic));
    const judged = unwanted.filter((topic) => this.#isJudged(topic));
    const stale = judged.filter((topic) => !this.#isLeftToOthers(topic));
    this.#isSweepDue = isAnyKept || this.#unjudged.size > 0 || judged.length < unwanted.length;
    for (const topic of stale) {
      await this.#retained.waitForRoom();
      this.#retained.clear(topic);
    }
    await this.#retained.waitForAnswers();
    const left = new Set(this.#retained.unknownTopics());
    const deleted = stale.filter((topic) => !left.has(topic)).length;
    if (deleted === 0) return;
    this.#log.info(`Deleted ${deleted} retained messages of removed devices`);
    this.emit('cleaned');
  }

  /**
   * Finds named devices that the account no longer has. A scan of the broker may miss what the state file names. Returns
   * whether any that is not shown is kept.
   */
  #findVanished(): boolean {
    const { state } = this.#parts;
    const { topics } = this.#context;
    let isAnyKept = false;
    for (const key of this.#named) {
      const device = this.#deviceAt(`${topics.base}/${key}`);
      if (!device) state.forgetDevice(key);
      else if (this.#isVanished(device)) {
        const { kind, id } = device;
        if (!topics.documents(kind, id).every((topic) => this.#isJudged(topic))) {
          isAnyKept = true;
          continue;
        }
        const isAnnounced = state.devices.has(key);
        for (const topic of this.#forget(device)) {
          if (isAnnounced) this.#retained.found(topic);
          this.#retained.markUnknown(topic);
        }
      }
    }
    return isAnyKept;
  }

  #isVanished({ kind, id }: DeviceKey): boolean {
    return this.#store.view(kind, id) === null && !this.#store.topology.isUndecided(kind, id);
  }

  /** Whether the topic belongs to a device or an incident that another bridge shows. Forgets it then. */
  #isLeftToOthers(topic: string): boolean {
    const { topics } = this.#context;
    const target = topics.parse(topic);
    const discovered = topics.discovered(topic);
    if (target?.kind === 'bridge' || discovered?.isBridge) return false;
    if (target?.kind === 'incident') {
      if (!this.#store.isLeftToOthers('incident', target.id)) return false;
      this.#retained.release(topic);
      return true;
    }
    const keys = target
      ? [target as DeviceKey]
      : cloudKinds.map((kind) => ({ kind, id: discovered?.id ?? '' }));
    const device = keys.find(({ kind, id }) => this.#store.isLeftToOthers(kind, id));
    if (device) this.#leave({ kind: device.kind, id: device.id });
    return device !== undefined;
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
