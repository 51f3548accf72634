import type { Connection } from '../broker/connection.ts';
import { isSafeId } from '../cloud/decoders.ts';
import { isCommandPath } from '../homeassistant/command.ts';
import {
  documentPaths,
  type FoundDiscovery,
  readDiscovery,
  type Target,
  type Topics,
} from '../homeassistant/topics.ts';
import { type Pause, pauseFromShown } from '../model/pause.ts';
import { recordFromShown, type UsageRecord } from '../model/usage.ts';

type PauseFound = Pick<Pause, 'until' | 'isOver'>;

/** How many exact topics are read at a time. */
export const maxTopicsAtOnce = 100;

/**
 * Reads the retained messages under these filters. `found` is called for each message, `onRead` once most brokers have
 * sent all of them.
 */
export function readRetained(
  connection: Connection,
  filters: readonly string[],
  found: (topic: string, payload: string) => void,
  onRead?: () => void,
): Promise<void> {
  return connection.readRetained(
    filters,
    ({ topic, payload, isRetained }) => {
      if (isRetained && payload !== '') found(topic, payload);
    },
    onRead,
  );
}

/** The messages that a scan has found. */
export class RetainedScan {
  readonly #topics: Topics;
  readonly #states = new Set<string>();
  readonly #discoveries = new Map<string, FoundDiscovery>();
  /** The incidents that an earlier run has published. */
  readonly incidents = new Set<string>();
  /** By the sonic's id: the water usage that an earlier run has published. */
  readonly usage = new Map<string, UsageRecord>();
  /** By property: the pause of the automatic shut-off that an earlier run has published; null if it was not paused. */
  readonly pauses = new Map<string, PauseFound | null>();
  /** The sonics without a hub that an earlier run has published. */
  readonly wifiSonics = new Set<string>();

  constructor(topics: Topics) {
    this.#topics = topics;
  }

  /** Adds a retained message, unless it cannot come from a bridge. */
  add(topic: string, payload: string): void {
    const topics = this.#topics;
    if (topics.discovered(topic) !== null) {
      const discovery = readDiscovery(payload);
      if (discovery) this.#discoveries.set(topic, discovery);
      return;
    }
    const target = topics.parse(topic);
    if (target && isTopicOfBridge(target)) this.#addState(topic, target, payload);
  }

  #addState(topic: string, { kind, id, path }: Target, payload: string): void {
    this.#states.add(topic);
    if (kind === 'incident') {
      if (path === '') this.incidents.add(id);
    } else if (path === '') {
      const record = objectIn(payload);
      if ('signal_id' in record && record.signal_id === null) this.wifiSonics.add(id);
    } else if (path === 'usage') {
      const record = recordFromShown(objectIn(payload));
      if (record) this.usage.set(id, record);
    } else if (path === 'pause') {
      const pause = pauseFromShown(objectIn(payload));
      if (pause !== undefined) this.pauses.set(id, pause);
    }
  }

  /** The state topics at which something was found. */
  get states(): ReadonlySet<string> {
    return this.#states;
  }

  /** By topic: the discovery messages of this base topic. */
  discoveries(): [string, FoundDiscovery][] {
    return [...this.#discoveries].filter(([, { stateTopic }]) => this.#isOwn(stateTopic));
  }

  /**
   * By topic: the discovery messages of bridges with another base topic, each with the topic of that bridge's `state`.
   */
  strangers(): Map<string, string> {
    const strange = [...this.#discoveries].filter(([, { stateTopic }]) => !this.#isOwn(stateTopic));
    return new Map(strange.map(([topic, { stateTopic }]) => [topic, stateTopic]));
  }

  /** All topics of this base topic, discovery messages first. */
  removable(): string[] {
    return [...this.discoveries().map(([topic]) => topic), ...this.#states];
  }

  #isOwn(stateTopic: string): boolean {
    return stateTopic === this.#topics.bridge('state');
  }
}

/** Whether a bridge publishes at this topic. Other clients may use topics such as `sonic/garden/moisture`. */
function isTopicOfBridge({ kind, id, path }: Target): boolean {
  if (kind !== 'bridge' && !isSafeId(id)) return false;
  const paths: readonly string[] = documentPaths[kind];
  return (
    paths.includes(path) || isCommandPath(kind, path) || (kind === 'bridge' && path.startsWith('request/'))
  );
}

/** The object in a JSON text; an empty one if there is none. */
export function objectIn(payload: string): object {
  try {
    const value: unknown = JSON.parse(payload);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
