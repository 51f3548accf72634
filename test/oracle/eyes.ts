import { isObject, type Values, withRoot } from '../support/homeAssistantRules.ts';
import { readOnce } from '../support/readOnce.ts';
import type { Shown } from './recordTruths.ts';

/** An entity as Home Assistant has it, by the discovery message of its device. */
export interface SeenEntity {
  /** Id of the record that its device shows; empty for the bridge. */
  readonly id: string;
  /** Component id. */
  readonly componentId: string;
  /** The topic of its states. */
  readonly stateTopic: string;
  /** The member of the document that it shows. */
  readonly key: string;
  readonly availabilityTopics: readonly string[];
  state: Shown;
}

const discoveryTopic = /^[^/]+\/device\/sonic2mqtt_([^/]+)\/config$/;

/**
 * What Home Assistant makes of the messages that a broker has: discovery, availability of mode `all`, and the member of a
 * document that each template names. It looks only at what has changed.
 */
export class Eyes {
  readonly #retained: ReadonlyMap<string, string>;
  readonly #byDevice = new Map<string, Map<string, SeenEntity>>();
  readonly #byState = new Map<string, Set<SeenEntity>>();
  readonly #byAvailability = new Map<string, Set<SeenEntity>>();
  /** The last message at a topic that any entity reads. */
  readonly #last = new Map<string, string>();
  readonly #onSeen: (entity: SeenEntity) => void;

  /** `onSeen` is told of each entity that shows something else than before, or that can be seen again. */
  constructor(retained: ReadonlyMap<string, string>, onSeen: (entity: SeenEntity) => void) {
    this.#retained = retained;
    this.#onSeen = onSeen;
  }

  /** Whether an entity's state counts. */
  isAvailable({ availabilityTopics }: Pick<SeenEntity, 'availabilityTopics'>): boolean {
    return availabilityTopics.every((topic) => this.#retained.get(topic) === 'online');
  }

  /** The entities of a record's device; empty for the bridge. */
  entitiesOf(id: string): Iterable<SeenEntity> {
    return this.#byDevice.get(id)?.values() ?? [];
  }

  entity(id: string, componentId: string): SeenEntity | undefined {
    return this.#byDevice.get(id)?.get(componentId);
  }

  /** The ids of all devices. */
  get deviceIds(): Iterable<string> {
    return this.#byDevice.keys();
  }

  /** A message that the broker took. */
  take(topic: string, payload: string): void {
    const [, device] = discoveryTopic.exec(topic) ?? [];
    if (device !== undefined) {
      // That of a bridge with another base topic has a name of its own.
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
      if (this.isAvailable(entity)) this.#onSeen(entity);
  }

  #show(entity: SeenEntity, document: Values): void {
    const value = document[entity.key];
    const state = typeof value === 'string' || typeof value === 'number' ? value : null;
    if (state === entity.state) return;
    entity.state = state;
    this.#onSeen(entity);
  }

  #discover(id: string, topic: string, payload: string): void {
    if (this.#last.get(topic) === payload) return;
    this.#last.set(topic, payload);
    const message = payload === '' ? {} : parsed(payload);
    const components = isObject(message['components']) ? message['components'] : {};
    const before = this.#byDevice.get(id) ?? new Map<string, SeenEntity>();
    for (const [componentId, entity] of before) {
      if (isWhole(components[componentId])) continue;
      before.delete(componentId);
      this.#drop(entity);
    }
    for (const [componentId, own] of Object.entries(components)) {
      if (!isWhole(own)) continue;
      const known = before.get(componentId);
      const entity = seen(id, componentId, withRoot(message, own), known?.state ?? null);
      if (known) this.#drop(known);
      before.set(componentId, entity);
      add(this.#byState, entity.stateTopic, entity);
      for (const each of entity.availabilityTopics) add(this.#byAvailability, each, entity);
      const document = this.#retained.get(entity.stateTopic);
      if (document !== undefined) this.#show(entity, parsed(document));
      else if (known) this.#onSeen(entity);
    }
    if (before.size > 0) this.#byDevice.set(id, before);
    else this.#byDevice.delete(id);
  }

  #drop(entity: SeenEntity): void {
    this.#byState.get(entity.stateTopic)?.delete(entity);
    for (const topic of entity.availabilityTopics) this.#byAvailability.get(topic)?.delete(entity);
  }
}

function seen(id: string, componentId: string, component: Values, state: Shown): SeenEntity {
  const [, key = ''] = /^\{\{ value_json\.(\w+) \}\}$/.exec(String(component['value_template'])) ?? [];
  return {
    ...{ id, componentId, key, state },
    stateTopic: String(component['state_topic']),
    availabilityTopics: availabilityTopics(component),
  };
}

/** The topics that must all say `online`. */
export function availabilityTopics({ availability }: Values): string[] {
  const entries = Array.isArray(availability) ? availability : [];
  return entries.map((entry) => (isObject(entry) ? String(entry['topic']) : ''));
}

/** A component that is named with nothing but its platform is withdrawn. */
function isWhole(component: unknown): component is Values {
  return isObject(component) && Object.keys(component).length > 1;
}

/** A JSON object, or an empty one. */
export function parsed(text: string): Values {
  try {
    const value = readOnce(text);
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
