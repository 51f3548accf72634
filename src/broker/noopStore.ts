import { type DoneCallback, type Packet, Store } from 'mqtt';

/**
 * mqtt.js keeps each message in a store until it is acknowledged, to send it again over the next connection. This
 * bridge has a new client for each connection and sends nothing again. So this store keeps only the ids, which saves
 * memory.
 */
export class NoopStore extends Store {
  override put({ cmd, messageId }: Packet, done: DoneCallback): this {
    return super.put({ cmd, messageId } as Packet, done);
  }
}
