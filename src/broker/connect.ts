import { Writable } from 'node:stream';
import { connect, type IClientOptions, type MqttClient, type StreamBuilder } from 'mqtt';
import { PacketLimit } from './packetLimit.ts';

/** Opens a connection like mqtt.js. The callback receives the length of each packet that is read only in part. */
export type Connect = (options: IClientOptions, onTooLong: (bytes: number) => void) => MqttClient;

/** Many times the longest message whose payload the bridge reads, in bytes. */
const readBufferBytes = 1024 * 1024;

/**
 * Opens a connection that cuts long packets as they arrive. Otherwise the library would keep all of a long packet in
 * memory.
 */
export const connectLimited: Connect = (options, onTooLong) => {
  // The client must not connect before its stream builder is replaced.
  const client = connect({ ...options, manualConnect: true });
  const buildStream: StreamBuilder = client['streamBuilder'];
  const buildLimited: StreamBuilder = (...given) => {
    const stream = buildStream(...given);
    const pipe = stream.pipe.bind(stream);
    stream.pipe = <Destination extends NodeJS.WritableStream>(destination: Destination) => {
      const limit = new PacketLimit(readBufferBytes, onTooLong);
      pipe(
        new Writable({
          write: (piece: Buffer, _encoding, done) => void destination.write(limit.apply(piece), done),
        }),
      );
      return destination;
    };
    return stream;
  };
  client['streamBuilder'] = buildLimited;
  return client.connect();
};
