import { type DoneCallback, type Packet, Store } from 'mqtt';

/**
 * What mqtt.js keeps of each message until it is acknowledged, to send it again over the next connection. Here each
 * connection has a client of its own and nothing is sent again: the ids are enough, and contents kept among them would
 * outlive several collections of garbage.
 */
export class NoopStore extends Store {
  override put({ cmd, messageId }: Packet, done: DoneCallback): this {
    return super.put({ cmd, messageId } as Packet, done);
  }
}
