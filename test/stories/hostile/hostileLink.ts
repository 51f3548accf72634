import type { MqttClient } from 'mqtt';
import type { Connect } from '../../../src/broker/clientOptions.ts';
import { matches } from '../../simulation/virtualBroker.ts';

/** A message of anybody's making, in bytes, with all that MQTT 5 can say beside it. */
export interface HostileMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly retain: boolean;
  readonly responseTopic?: string;
  readonly correlationData?: Buffer;
}

type Deliver = (topic: string, payload: string, isFlagged: boolean) => void;

/** The bridge's end of its link to a broker, at which messages can be put in and answers be seen. */
export class HostileLink {
  #client: MqttClient | null = null;
  readonly #filters = new Set<string>();
  /** Told each message that the bridge is about to hear. */
  onDelivery: Deliver = () => {};

  /** What is dialled from now on goes through this link. */
  tap(dial: Connect): Connect {
    return ((options: Parameters<Connect>[0]) => {
      const client = (dial as (options: Parameters<Connect>[0]) => MqttClient)(options);
      this.#client = client;
      this.#filters.clear();
      const subscribe = client.subscribe.bind(client);
      client.subscribe = ((map: object, ...rest: never[]) => {
        for (const filter of Object.keys(map)) this.#filters.add(filter);
        return (subscribe as (...args: unknown[]) => MqttClient)(map, ...rest);
      }) as MqttClient['subscribe'];
      const unsubscribe = client.unsubscribe.bind(client);
      client.unsubscribe = ((filters: readonly string[]) => {
        for (const filter of filters) this.#filters.delete(filter);
        return unsubscribe([...filters]);
      }) as MqttClient['unsubscribe'];
      return client;
    }) as Connect;
  }

  /** Delivers the message if the bridge has subscribed to its topic; says whether it did. */
  deliver({ topic, payload, retain, responseTopic, correlationData }: HostileMessage): boolean {
    if (![...this.#filters].some((filter) => matches(filter, topic))) return false;
    const properties = {
      ...(responseTopic !== undefined && { responseTopic }),
      ...(correlationData !== undefined && { correlationData }),
    };
    this.onDelivery(topic, payload.toString(), retain);
    // The connection uses no more of a packet.
    this.#client?.emit('message', topic, payload, { retain, properties } as never);
    return true;
  }
}
