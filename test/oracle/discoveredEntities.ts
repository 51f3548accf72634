import { parseCachedJson } from '../support/cachedJson.ts';
import { isObject, type Values, withRoot } from '../support/homeAssistantRules.ts';
import type { Shown } from './recordTruths.ts';

/** An entity of Home Assistant, as the discovery message of its device describes it. */
export interface DiscoveredEntity {
  /** The ID of the device in the cloud. Empty for the bridge. */
  readonly id: string;
  /** The ID of the component in the discovery message. */
  readonly componentId: string;
  readonly stateTopic: string;
  /** The key of the state document whose value the entity shows. */
  readonly key: string;
  readonly availabilityTopics: readonly string[];
  state: Shown;
}

const discoveryTopic = /^[^/]+\/device\/sonic2mqtt_([^/]+)\/config$/;

/**
 * The entities that Home Assistant would have from the messages on a broker, with their states. It knows
 * discovery, availability of mode `all`, and templates that read one key of a document. For speed it looks
 * only at entities that a message changes.
 */
export class DiscoveredEntities {
  readonly #retained: ReadonlyMap<string, string>;
  readonly #byDevice = new Map<string, Map<string, DiscoveredEntity>>();
  readonly #byState = new Map<string, Set<DiscoveredEntity>>();
  readonly #byAvailability = new Map<string, Set<DiscoveredEntity>>();
  /** The last message on each topic that an entity reads. */
  readonly #last = new Map<string, string>();
  readonly #onChange: (entity: DiscoveredEntity) => void;

  /** Calls `onChange` for each entity that shows another value, or that becomes available again. */
  constructor(retained: ReadonlyMap<string, string>, onChange: (entity: DiscoveredEntity) => void) {
    this.#retained = retained;
    this.#onChange = onChange;
  }

  /** Whether Home Assistant shows the entity's state, and not "unavailable". */
  isAvailable({ availabilityTopics }: Pick<DiscoveredEntity, 'availabilityTopics'>): boolean {
    return availabilityTopics.every((topic) => this.#retained.get(topic) === 'online');
  }

  /** The entities of a device. An empty ID means the bridge. */
  entitiesOf(id: string): Iterable<DiscoveredEntity> {
    return this.#byDevice.get(id)?.values() ?? [];
  }

  entity(id: string, componentId: string): DiscoveredEntity | undefined {
    return this.#byDevice.get(id)?.get(componentId);
  }

  get deviceIds(): Iterable<string> {
    return this.#byDevice.keys();
  }

  /** The broker accepted a message. */
  take(topic: string, payload: string): void {
    const [, device] = discoveryTopic.exec(topic) ?? [];
    if (device !== undefined) {
      // A bridge with another base topic has a device name of its own.
      this.#discover(/^bridge(_\d+)?$/.test(device) ? '' : device, topic, payload);
      return;
    }
    const entities = this.#byState.get(topic);
    if (entities && payload !== '' && this.#last.get(topic) !== payload) {
      this.#last.set(topic, payload);
      const document = parsed(payload);
      for (const entity of entities) this.#show(entity, document);
    }
    if (payload !== 'online') return;
    for (const entity of this.#byAvailability.get(topic) ?? [])
      if (this.isAvailable(entity)) this.#onChange(entity);
  }

  #show(entity: DiscoveredEntity, document: Values): void {
    const value = document[entity.key];
    const state = typeof value === 'string' || typeof value === 'number' ? value : null;
    if (state === entity.state) return;
    entity.state = state;
    this.#onChange(entity);
  }

  #discover(id: string, topic: string, payload: string): void {
    if (this.#last.get(topic) === payload) return;
    this.#last.set(topic, payload);
    const message = payload === '' ? {} : parsed(payload);
    const components = isObject(message['components']) ? message['components'] : {};
    const before = this.#byDevice.get(id) ?? new Map<string, DiscoveredEntity>();
    for (const [componentId, entity] of before) {
      if (isPresent(components[componentId])) continue;
      before.delete(componentId);
      this.#drop(entity);
    }
    for (const [componentId, own] of Object.entries(components)) {
      if (!isPresent(own)) continue;
      const known = before.get(componentId);
      const entity = discoveredEntity(id, componentId, withRoot(message, own), known?.state ?? null);
      if (known) this.#drop(known);
      before.set(componentId, entity);
      add(this.#byState, entity.stateTopic, entity);
      for (const each of entity.availabilityTopics) add(this.#byAvailability, each, entity);
      const document = this.#retained.get(entity.stateTopic);
      if (document !== undefined) this.#show(entity, parsed(document));
      else if (known) this.#onChange(entity);
    }
    if (before.size > 0) this.#byDevice.set(id, before);
    else this.#byDevice.delete(id);
  }

  #drop(entity: DiscoveredEntity): void {
    this.#byState.get(entity.stateTopic)?.delete(entity);
    for (const topic of entity.availabilityTopics) this.#byAvailability.get(topic)?.delete(entity);
  }
}

function discoveredEntity(
  id: string,
  componentId: string,
  component: Values,
  state: Shown,
): DiscoveredEntity {
  const [, key = ''] = /^\{\{ value_json\.(\w+) \}\}$/.exec(String(component['value_template'])) ?? [];
  return {
    ...{ id, componentId, key, state },
    stateTopic: String(component['state_topic']),
    availabilityTopics: availabilityTopics(component),
  };
}

/** The topics on which `online` must be retained for the entity to be available. */
export function availabilityTopics({ availability }: Values): string[] {
  const entries = Array.isArray(availability) ? availability : [];
  return entries.map((entry) => (isObject(entry) ? String(entry['topic']) : ''));
}

/** A component with only a platform is an order to remove the entity. */
function isPresent(component: unknown): component is Values {
  return isObject(component) && Object.keys(component).length > 1;
}

/** The JSON object in a text. An empty object if the text is something else. */
export function parsed(text: string): Values {
  try {
    const value = parseCachedJson(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function add<T>(sets: Map<string, Set<T>>, key: string, value: T): void {
  const set = sets.get(key);
  if (set) set.add(value);
  else sets.set(key, new Set([value]));
}
