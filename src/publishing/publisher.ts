import { EventEmitter } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { backoffMs } from '../base/backoff.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Connection } from '../broker/connection.ts';
import type { Mirror } from '../broker/mirror.ts';
import { failureMessage } from '../health/checks.ts';
import { type DiscoveryPlan, viewId } from '../homeassistant/discovery.ts';
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
import type { PlannedKind } from '../store/account.ts';
import type { DeviceKey, Store } from '../store/store.ts';
import type { BridgeState } from './bridgeState.ts';
import { DeviceLog } from './deviceLog.ts';
import type { DiscoveryMessages } from './discoveryMessages.ts';
import { messageCount } from './retainedMessages.ts';

/**
 * What is published. `lists`: while the lists are read, the messages about the bridge, and that the devices of earlier
 * runs are offline. `details`: also the devices, but discovery messages wait for the details that decide about entities. `running`: everything.
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

/** What is to be on the broker of a record. `shown`: what its view says. `unread`: it may exist, so it is offline. `gone`: nothing. */
type Verdict = 'shown' | 'unread' | 'gone';

interface Published {
  readonly record: RecordKey;
  readonly verdict: Verdict;
  /** What its messages were made from; undefined if they are to be made again. */
  from: object | undefined;
}

/** How long a round waits for further changes, in ms. Meanwhile, a command that has changed something is sent. */
const calmMs = 5;

/** The waits before refused messages are published again, in ms. */
const refusalBackoff = { firstMs: 5_000, longestMs: 600_000 };

/**
 * Keeps the retained messages up to date. It is woken by changes in the store or of the bridge itself, by a new
 * connection, and by a delayed discovery message. A round is one loop:
 *
 * 1. The bridge, and `cloud` becomes `offline` if the data is not fresh.
 * 2. Each record that the account or the state file has gets a verdict. Its messages follow from the verdict, unless they were
 *    made from the same view before: first what is offline, then what is shown, and last what is deleted.
 * 3. `cloud` and `state` become `online`, after the devices, so that no old value ever looks available.
 * 4. The discovery messages of which this connection has none yet. They are ten times as long as all values.
 *
 * So a message is published if all of this holds: the publisher is awake and connected, the record is asked in this round, the
 * verdict gives it a message, that is made from something new, and the broker has another one.
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
  #isWanted = false;
  /** By key: the devices to ask for their views in the next round; null stands for every record. */
  #asked: Map<string, DeviceKey> | null = null;
  /** By key. */
  readonly #published = new Map<string, Published>();
  /** By key of a record that is gone: the topics of which the broker may still have messages. */
  readonly #leaving = new Map<string, readonly string[]>();
  /** What the messages of the bridge's own device were made from; null if they are to be made again. */
  #bridgeFrom: DeviceView | null = null;
  /** The discovery messages that wait until the values of all devices are on the broker. */
  readonly #unannounced: { readonly plan: () => DiscoveryPlan; readonly view: DeviceView }[] = [];
  #running: Promise<void> | null = null;
  #brokerRead: Promise<void> = Promise.resolve();
  /** The facts of the bridge in the last published summaries, as JSON. */
  #summaryFacts = '';
  #refusals = 0;
  #cancelRetry: (() => void) | null = null;

  constructor(parts: PublisherParts) {
    super();
    this.#parts = parts;
    this.#deviceLog = new DeviceLog(parts.log);
    const { context, connection, mirror, store } = parts;
    store.on('change', (device) => {
      if (device) this.#asked?.set(keyOf(device), device);
      else this.#asked = null;
      // Before that, a single device has changed by what the bridge itself knows of it.
      if (device || this.isShowingDevices) this.wake();
    });
    store.on('pause', () => this.wake());
    mirror.on('refusal', (topic) => {
      const { kind, id } = context.topics.parse(topic) ?? { kind: 'bridge', id: '' };
      if (kind === 'signal' || kind === 'sonic') this.planOne(kind, id);
    });
    connection.on('message', ({ topic, isRetained }) => {
      // An earlier run, in which discovery was not switched off, may have left messages.
      if (!context.isDiscoveryOn && isRetained && context.topics.isDiscovery(topic)) mirror.found(topic);
    });
  }

  get isStopped(): boolean {
    return this.#phase === 'stopped';
  }

  /** Whether the devices of this run are published. */
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
    this.planAll();
  }

  /** Makes all messages again, because something that no view tells has changed, and publishes what differs. */
  planAll(kind?: DeviceKind): void {
    for (const known of this.#published.values()) {
      if (kind === undefined || known.record.kind === kind) known.from = undefined;
    }
    if (kind === undefined) this.#bridgeFrom = null;
    this.#asked = null;
    this.wake();
  }

  /** Publishes everything again, because the broker may have lost it or Home Assistant has started. */
  republishAll(): void {
    this.#isAllWanted = true;
    this.wake();
  }

  /** Publishes nothing until the broker was read. */
  waitFor(brokerRead: Promise<void>): Promise<void> {
    this.#brokerRead = brokerRead;
    return brokerRead;
  }

  /** Publishes the states of a device's entities again, so that the sender of a failed command sees the true state. */
  republishStates(kind: DeviceKind, id: string): void {
    const { context, mirror } = this.#parts;
    mirror.forget([context.topics.below(kind, id, statesPath)]);
    this.planOne(kind, id);
  }

  /** Makes the messages of the device again, and publishes what differs. */
  planOne(kind: DeviceKind, id: string): void {
    if (kind === 'bridge') this.#bridgeFrom = null;
    else {
      const key = keyOf({ kind, id });
      const known = this.#published.get(key);
      // What is being deleted is deleted once.
      if (known && known.verdict !== 'gone') known.from = undefined;
      this.#asked?.set(key, { kind, id });
    }
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
      if (plan) yield plan().write();
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
    const { connection, mirror, bridgeState } = this.#parts;
    await this.#untilCalm();
    while (this.#isWanted && connection.isConnected && !this.isStopped) {
      this.#isWanted = false;
      await this.#brokerRead;
      if (this.#isAllWanted) {
        this.#isAllWanted = false;
        mirror.forget();
        this.planAll();
        this.#isWanted = false;
      }
      // The values of the beginning count: if one changes during the round, this round has not published the devices.
      const { isShowingDevices } = this;
      const wasFresh = bridgeState.cloud.payload === 'online';
      this.#publishBridge();
      await this.#publishRecords();
      await mirror.waitForAnswers();
      this.#publishOnline(isShowingDevices && wasFresh);
      await this.#announce();
      if (!isShowingDevices) continue;
      this.#hasShownDevices = true;
      this.emit('published');
      this.#retryRefused();
    }
  }

  /** Changes that are made together are published together. To ask a thousand valves takes some milliseconds. */
  #untilCalm(): Promise<void> {
    const { store, clock } = this.#parts;
    const count = this.#asked === null ? store.ids('sonic').length : 0;
    return sleep(clock, calmMs + count / 10);
  }

  #publishBridge(): void {
    const { mirror, bridgeState } = this.#parts;
    const { view, cloud, documents } = bridgeState;
    if (!this.isShowingDevices || cloud.payload === 'offline') mirror.want(cloud.topic, 'offline');
    for (const { topic, payload } of documents) mirror.want(topic, payload);
    if (!isDeepStrictEqual(view, this.#bridgeFrom)) this.#publishDevice(view);
    this.#bridgeFrom = view;
    // The summaries of the properties have facts of the bridge.
    const facts = JSON.stringify(bridgeState.facts);
    if (facts !== this.#summaryFacts) this.planAll('property');
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

  async #announce(): Promise<void> {
    const { mirror } = this.#parts;
    for (const { plan, view } of this.#unannounced.splice(0)) {
      await mirror.waitForRoom();
      // The bridge has said that it is offline.
      if (this.isStopped) return;
      this.#guard(view.kind, viewId(view), () => this.#publishDiscovery(plan(), view));
    }
    await mirror.waitForAnswers();
  }

  /** If the messages of one record cannot be made, the others must still be published. */
  #guard(kind: DeviceKind | 'incident', id: string, publish: () => void): void {
    const { store, log } = this.#parts;
    try {
      publish();
    } catch (error) {
      const [label, name] =
        kind === 'incident'
          ? ['alert', id]
          : [kindLabels[kind], kind === 'bridge' ? 'sonic2mqtt' : store.label(kind, id)];
      log.error({ err: error, device: id }, `Internal error: cannot publish ${label} ${name}`);
    }
  }

  // ---- the records --------------------------------------------------------------------------------------------

  /** Publishes what follows from the verdict of each record, unless it was made from the same before. */
  async #publishRecords(): Promise<void> {
    const { mirror, state, store } = this.#parts;
    const judged = this.#records().map((record) => ({ record, verdict: this.#verdictOf(record) }));
    // Each new one is written to the disk at once. Together, they are one write.
    for (const { record, verdict } of judged) {
      const { kind, id } = record;
      const name = kind === 'incident' ? '' : (store.devices[kind].get(id)?.name ?? '');
      if (verdict === 'shown') state.kept.devices.set(keyOf(record), name);
    }
    let deleted = 0;
    for (const verdict of ['unread', 'shown', 'gone'] as const) {
      for (const { record } of judged.filter((each) => each.verdict === verdict)) {
        const key = keyOf(record);
        const known = this.#published.get(key);
        const from = this.#sourceOf(record, verdict);
        if (known?.verdict === verdict && known.from && isDeepStrictEqual(known.from, from)) continue;
        await mirror.waitForRoom();
        this.#published.set(key, { record, verdict, from });
        if (verdict !== 'gone') this.#leaving.delete(key);
        this.#guard(record.kind, record.id, () => {
          this.#publishRecord(record, verdict);
          const wasCounted = known?.verdict === 'shown' || known?.verdict === 'gone';
          if (!wasCounted) deleted += this.#leaving.get(key)?.length ?? 0;
        });
      }
    }
    // Before that, a normal start would name devices whose lists are still to come.
    if (this.#phase === 'running') this.#deviceLog.write();
    await mirror.waitForAnswers();
    this.#forgetDeleted();
    if (deleted > 0) this.#logDeleted(deleted);
  }

  /** What is to be asked: every record of the account, in its order, and of the state file; or what has changed. */
  #records(): RecordKey[] {
    const { store } = this.#parts;
    const asked = this.#asked;
    this.#asked = new Map();
    if (asked === null) {
      const shown = [...cloudKinds, 'incident' as const].flatMap((kind) =>
        store.ids(kind).map((id) => ({ kind, id })),
      );
      const records = new Map<string, RecordKey>(shown.map((record) => [keyOf(record), record]));
      for (const record of this.#named()) if (!records.has(keyOf(record))) records.set(keyOf(record), record);
      return [...records.values()];
    }
    // A property sums up its devices. A valve whose property is not known may be in any.
    const properties = new Set([...asked.values()].map(({ kind, id }) => store.propertyOf(kind, id)));
    const ids = properties.has(null) ? store.ids('property') : properties;
    for (const id of ids)
      if (id !== null) asked.set(keyOf({ kind: 'property', id }), { kind: 'property', id });
    return [...asked.values()];
  }

  /** Null for a record that has no messages of this bridge. */
  #verdictOf(record: RecordKey): Verdict | null {
    const { state, store } = this.#parts;
    const { kind, id } = record;
    const isPlacePending =
      kind === 'incident' ? store.incidents.isPlacePending(id) : store.isPlacePending(kind, id);
    const isShown = kind === 'incident' ? store.incidents.get(id) !== null : store.isShown(kind, id);
    if (this.isShowingDevices && isShown && !isPlacePending) return 'shown';
    if (!state.kept.devices.has(keyOf(record))) return null;
    if (isPlacePending || !this.isShowingDevices) return 'unread';
    // The account no longer has what this run has shown, or `filters.properties` now leaves out its property.
    const before = this.#published.get(keyOf(record))?.verdict;
    if (before === 'shown' || before === 'gone') return 'gone';
    // What this run has never shown must be missing from complete lists. If the filter selects no property, it is outdated
    // or misspelt. Then everything that the account still has stays until the filter is corrected.
    const isLeftOut = !store.filter.isOn || store.filter.isMatched || !store.has(kind, id);
    return store.areListsComplete && isLeftOut ? 'gone' : 'unread';
  }

  /** What the messages of a record are made from. */
  #sourceOf({ kind, id }: RecordKey, verdict: Verdict): object {
    const { store } = this.#parts;
    if (verdict === 'unread') return { ...this.#knownOf(kind, id), cause: this.#causeOf(kind, id) };
    const view = kind === 'incident' ? store.incidents.get(id) : store.view(kind, id);
    return (verdict === 'shown' && view) || {};
  }

  /** Publishes or deletes the messages of a record. */
  #publishRecord(record: RecordKey, verdict: Verdict): void {
    const { context, mirror, store } = this.#parts;
    const { kind, id } = record;
    if (verdict === 'gone') {
      const leaving = this.#leaving.get(keyOf(record)) ?? this.#leave(record);
      this.#leaving.set(keyOf(record), leaving);
      for (const topic of leaving) mirror.drop(topic);
      return;
    }
    if (kind === 'incident') {
      const incident = verdict === 'shown' && store.incidents.get(id);
      if (!incident) return;
      const { topic, payload } = planIncident(incident, context.topics);
      mirror.want(topic, payload);
      return;
    }
    const view = verdict === 'shown' ? store.view(kind, id) : null;
    if (!view) this.#publishUnreadDevice({ kind, id });
    else {
      const isRejected = this.#publishDevice(view);
      if (view.kind !== 'property') this.#deviceLog.note(view, store.label(view.kind, id), isRejected);
    }
  }

  /** The bridge's own data of a device that this run has not read. */
  #knownOf(kind: PlannedKind, id: string) {
    const { state, store } = this.#parts;
    // Until the broker was read, it may know more than the state file, and its messages stay.
    const isBrokerRead = this.isShowingDevices || state.revision !== null;
    const isSonic = isBrokerRead && kind === 'sonic';
    return {
      name: state.kept.devices.get(keyOf({ kind, id })),
      usage: isSonic ? store.usage.of(id) : undefined,
      record: isSonic ? store.valves.of(id) : undefined,
      pause: isBrokerRead ? store.pauseOf(id) : undefined,
    };
  }

  #publishUnreadDevice({ kind, id }: DeviceKey): void {
    const { context, mirror, store } = this.#parts;
    const plan = planUnread(kind, id, this.#knownOf(kind, id), context);
    // An earlier run may have left messages at the other topics.
    const isFirst = plan.messages.every(({ topic }) => !mirror.mayHave(topic));
    if (isFirst) for (const topic of [...plan.unwanted, ...plan.staying]) mirror.found(topic);
    this.#putAll(plan);
    const cause = this.#causeOf(kind, id);
    if (cause !== null && kind !== 'property')
      this.#deviceLog.noteUnread(kind, id, store.label(kind, id), cause);
  }

  /** Why this run has not read a device of an earlier one; null while a first list of it is still to come. */
  #causeOf(kind: PlannedKind, id: string): string | null {
    const { store, poller } = this.#parts;
    if (this.#phase !== 'running' || (kind !== 'signal' && kind !== 'sonic')) return null;
    if (store.has(kind, id)) return 'filters.properties leaves it out';
    if (store.devices[kind].isComplete)
      return 'the cloud does not list it. It is removed once all lists were read';
    const poll = `${kind}s` as const;
    const { failure } = poller.statuses.records[poll];
    return failure && `not read since the start. ${failureMessage(failure, [poll])}`;
  }

  /** Returns whether the broker refuses a message of the device. */
  #publishDevice(view: DeviceView): boolean {
    const { context, mirror } = this.#parts;
    const { discovery, messages: planned, unwanted } = planDevice(view, context);
    const topics = [...planned.map(({ topic }) => topic), ...unwanted];
    const isRefused = topics.some((topic) => mirror.isRefused(topic));
    const messages = isRefused ? unavailable(planned) : planned;
    const topic = context.topics.discovery(view.kind, viewId(view));
    if (discovery) this.#putDiscovery(topic, discovery, view);
    else mirror.drop(topic);
    this.#putAll({ unwanted, messages });
    return isRefused;
  }

  #putAll({ messages, unwanted }: Pick<DevicePlan, 'messages' | 'unwanted'>): void {
    const { mirror } = this.#parts;
    for (const { topic, payload } of messages) mirror.want(topic, payload);
    for (const topic of unwanted) mirror.drop(topic);
  }

  #putDiscovery(topic: string, plan: () => DiscoveryPlan, view: DeviceView): void {
    // Before the details are read, entities would appear and vanish. Only the bridge's own device is announced at once,
    // because it shows why the cloud cannot be read.
    if (this.#phase !== 'running') {
      if (view.kind === 'bridge') this.#publishDiscovery(plan(), view);
      return;
    }
    // What replaces a message comes before the states, which may be new options of a select. But no device comes before the
    // one that it belongs to, which may be new.
    const isReplaced = this.#parts.mirror.isKnown(topic) && this.#unannounced.length === 0;
    if (isReplaced) this.#publishDiscovery(plan(), view);
    else this.#unannounced.push({ plan, view });
  }

  #publishDiscovery(plan: DiscoveryPlan, view: DeviceView): void {
    const { context, mirror, discovery } = this.#parts;
    // Home Assistant takes a message a moment later. Until then, it refuses a state that is a new option of a select.
    if (discovery.publish(plan, view))
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

  #leave({ kind, id }: RecordKey): readonly string[] {
    const { context, mirror, discovery } = this.#parts;
    const { topics } = context;
    if (kind !== 'incident') this.#deviceLog.forget(kind, id);
    const availability = topics.below(kind, id, 'availability');
    if (mirror.mayHave(availability)) mirror.want(availability, 'offline');
    const documents = topics.documents(kind, id);
    const config = kind === 'incident' ? '' : topics.discovery(kind, id);
    // The discovery message comes first, because its deletion makes Home Assistant remove the device.
    const isOwn = kind !== 'incident' && discovery.forget(config, kind);
    const leaving = isOwn ? [config, ...documents] : documents;
    for (const topic of leaving) mirror.found(topic);
    return leaving;
  }

  /** Forgets the records of which the broker has no message any more. */
  #forgetDeleted(): void {
    const { state, mirror } = this.#parts;
    for (const [key, topics] of this.#leaving) {
      if (topics.some((topic) => mirror.mayHave(topic))) continue;
      this.#leaving.delete(key);
      this.#published.delete(key);
      state.kept.devices.delete(key);
    }
  }

  #logDeleted(messages: number): void {
    const { store, log } = this.#parts;
    const count = messageCount(messages);
    log.info(
      store.filter.isOn
        ? `Deleted ${count} of removed devices, or of properties outside filters.properties`
        : `Deleted ${count} of removed devices`,
    );
  }

  #retryRefused(): void {
    const { mirror, clock } = this.#parts;
    if (mirror.refusal === null) this.#refusals = 0;
    else if (this.#cancelRetry === null) {
      this.#refusals += 1;
      this.#cancelRetry = clock.after(
        backoffMs(refusalBackoff, this.#refusals, () => 1),
        () => {
          this.#cancelRetry = null;
          this.planAll();
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
