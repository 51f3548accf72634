import { availabilityTopics } from '../oracle/discoveredEntities.ts';
import type { Shown } from '../oracle/recordTruths.ts';
import { parseCachedJson } from '../support/cachedJson.ts';
import { discoveryViolations } from '../support/discoveryViolations.ts';
import { isObject, type Values, withRoot } from '../support/homeAssistantRules.ts';
import {
  attributesShown,
  attributeViolations,
  stateViolations,
  wordViolation,
} from '../support/stateViolations.ts';
import type { Home } from './home.ts';

/** An entity that was set up, and what it shows. */
export interface Entity {
  /** Identifier of its device. */
  readonly device: string;
  /** Component id. */
  readonly id: string;
  readonly component: Values;
  /** Whether it can be used and its state counts: all of its topics say `online`. */
  readonly isAvailable: boolean;
  readonly state: Shown;
  readonly attributes: Values;
}

/** A device as its message describes it. */
export interface Device {
  /** Its `device` object. */
  readonly about: Values;
  readonly entities: ReadonlyMap<string, Entity>;
}

interface MutableEntity extends Entity {
  component: Values;
  /** The topics that must all say `online`. */
  availability: readonly string[];
  state: Shown;
  attributes: Values;
}
interface KnownDevice {
  about: Values;
  /** The topic of its message. */
  readonly topic: string;
  readonly entities: Map<string, MutableEntity>;
}

const discoveryTopic = /^([^/]+)\/device\/[^/]+\/config$/;

/** Takes discovery as Home Assistant does, keeps the state of every entity and uses them as a person would. */
export class FakeHomeAssistant {
  /** By identifier. */
  readonly #devices = new Map<string, KnownDevice>();
  /** All that it did not take or would warn of. */
  readonly complaints: string[] = [];
  readonly #home: Home;

  /** Listens to the broker of a home from now on. */
  constructor(home: Home) {
    this.#home = home;
    home.onTaken = ({ topic, payload }) => this.#take(topic, payload);
  }

  /** By identifier. */
  get devices(): ReadonlyMap<string, Device> {
    return this.#devices;
  }

  /** The entity of the device of that id; throws where there is none. */
  entity(deviceId: string, id: string): Entity {
    const entity = this.#devices.get(`sonic2mqtt_${deviceId}`)?.entities.get(id);
    if (!entity) throw new Error(`${deviceId} has no ${id}`);
    return entity;
  }

  /** Every entity of every device. */
  entities(): Entity[] {
    return [...this.#devices.values()].flatMap(({ entities }) => [...entities.values()]);
  }

  /**
   * Opens or closes a valve, presses a button, turns a switch `on` or `off`, chooses an option, writes a text. Throws
   * where Home Assistant would not let one: an entity that is unavailable, an option that is not offered.
   */
  use(deviceId: string, id: string, input?: string): void {
    const { component, isAvailable } = this.entity(deviceId, id);
    if (!isAvailable) throw new Error(`${id} of ${deviceId} is unavailable and cannot be used`);
    const topic = component['command_topic'];
    if (typeof topic !== 'string') throw new Error(`${id} of ${deviceId} takes no commands`);
    this.#home.broker.publish(topic, payloadFor(component, input), component['retain'] === true);
  }

  #take(topic: string, payload: string): void {
    if (discoveryTopic.test(topic)) {
      this.#discover(topic, payload);
      return;
    }
    for (const { entities } of this.#devices.values())
      for (const entity of entities.values()) this.#tell(entity, topic, payload);
  }

  #complain(words: string): void {
    this.complaints.push(words);
  }

  #discover(topic: string, payload: string): void {
    if (payload === '') {
      for (const [identifier, device] of this.#devices) {
        if (device.topic === topic) this.#devices.delete(identifier);
      }
      return;
    }
    const message = read(payload);
    if (!isObject(message)) {
      this.#complain(`${topic}: no JSON object`);
      return;
    }
    const components = isObject(message['components']) ? message['components'] : {};
    const isStub = (component: unknown) =>
      isObject(component) && Object.keys(component).length === 1 && 'platform' in component;
    const kept = Object.fromEntries(Object.entries(components).filter(([, each]) => !isStub(each)));
    const violations = discoveryViolations(topic, payload);
    // One fault at the root costs the whole device; one in a component, that component. None is to be expected.
    for (const violation of violations) this.#complain(`${topic}: ${violation}`);
    const about = isObject(message['device']) ? message['device'] : {};
    const identifier = String([about['identifiers']].flat()[0]);
    const known = this.#devices.get(identifier);
    if (known && known.topic !== topic) {
      this.#complain(`${topic}: ${identifier} was announced at ${known.topic} already`);
      return;
    }
    const parent = about['via_device'];
    if (parent !== undefined && !this.#devices.has(String(parent))) {
      this.#complain(`${topic}: the device's parent ${parent} is not known, which makes a nameless one`);
    }
    const device: KnownDevice = known ?? { about, topic, entities: new Map() };
    device.about = about;
    this.#devices.set(identifier, device);
    for (const id of device.entities.keys()) {
      if (!(id in components)) this.#complain(`${topic}: ${id} was left out, which does not remove it`);
      else if (!(id in kept)) device.entities.delete(id);
    }
    for (const [id, component] of Object.entries(kept)) {
      if (!isObject(component)) continue;
      this.#setUp(identifier, device, id, withRoot(message, component));
    }
  }

  #setUp(identifier: string, device: KnownDevice, id: string, component: Values): void {
    const existing = device.entities.get(id);
    const double = this.entities().find(
      (other) =>
        other !== existing &&
        other.component['platform'] === component['platform'] &&
        other.component['unique_id'] === component['unique_id'],
    );
    if (double) {
      this.#complain(`${identifier} ${id}: its unique_id is that of ${double.device} ${double.id}`);
      return;
    }
    const { broker } = this.#home;
    const entity: MutableEntity = existing ?? {
      device: identifier,
      id,
      component,
      availability: [],
      state: null,
      attributes: {},
      get isAvailable() {
        return this.availability.every((topic) => broker.retained.get(topic) === 'online');
      },
    };
    entity.component = component;
    entity.availability = availabilityTopics(component);
    device.entities.set(id, entity);
    const topics = new Set([component['state_topic'], component['json_attributes_topic']]);
    for (const topic of topics) {
      const last = broker.retained.get(String(topic));
      if (last !== undefined) this.#tell(entity, String(topic), last);
    }
  }

  #tell(entity: MutableEntity, topic: string, payload: string): void {
    const { component } = entity;
    const name = `${entity.device} ${entity.id}`;
    if (entity.availability.includes(topic) && !['online', 'offline', ''].includes(payload)) {
      this.#complain(`${name}: ${payload} says nothing of its availability`);
    }
    // A topic that is emptied tells an entity nothing: it keeps what it shows.
    if (payload === '') return;
    if (component['json_attributes_topic'] === topic) this.#takeAttributes(entity, name, topic, payload);
    if (component['state_topic'] !== topic) return;
    this.#takeState(entity, name, topic, payload);
  }

  #takeState(entity: MutableEntity, name: string, topic: string, payload: string): void {
    const { component } = entity;
    const violations = stateViolations(name, component, new Map([[topic, payload]]));
    for (const violation of violations) this.#complain(violation);
    if (violations.length > 0) return;
    const key = /^\{\{ value_json\.(\w+) \}\}$/.exec(String(component['value_template']))?.[1] ?? '';
    const document = read(payload);
    const value = isObject(document) ? document[key] : undefined;
    entity.state = typeof value === 'string' || typeof value === 'number' ? value : null;
  }

  #takeAttributes(entity: MutableEntity, name: string, topic: string, payload: string): void {
    const violations = attributeViolations(name, entity.component, new Map([[topic, payload]]));
    for (const violation of violations) this.#complain(violation);
    if (violations.length > 0) return;
    const expression = /^\{\{ \((.+)\) \| tojson \}\}$/.exec(
      String(entity.component['json_attributes_template']),
    )?.[1];
    entity.attributes = attributesShown(expression ?? '', read(payload));
  }
}

function read(payload: string): unknown {
  try {
    return parseCachedJson(payload);
  } catch {
    return undefined;
  }
}

/** What Home Assistant sends when an entity is used. */
function payloadFor(component: Values, input: string | undefined): string {
  const payload = (key: string, otherwise: string) => String(component[key] ?? otherwise);
  const words: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    valve: { open: payload('payload_open', 'OPEN'), close: payload('payload_close', 'CLOSE') },
    switch: { on: payload('payload_on', 'ON'), off: payload('payload_off', 'OFF') },
  };
  const { platform } = component;
  if (platform === 'button') return payload('payload_press', 'PRESS');
  if (input === undefined) throw new Error(`a ${platform} is used with a value`);
  if (platform === 'text' || platform === 'select' || platform === 'number') {
    const wrong = wordViolation(component, platform === 'number' ? Number(input) : input);
    if (wrong !== null) throw new Error(`${input} ${wrong}`);
    return input;
  }
  const word = words[String(platform)]?.[input];
  if (word === undefined) throw new Error(`a ${platform} does not take ${input}`);
  return word;
}
