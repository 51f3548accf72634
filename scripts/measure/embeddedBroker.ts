// The embedded broker in a process of its own, on the port that is its only argument.
import { EmbeddedBroker } from '../../src/broker/embedded.ts';
import { serveParent } from './deeds.ts';

const broker = new EmbeddedBroker({
  host: '127.0.0.1',
  port: Number(process.argv[2]),
  username: undefined,
  password: undefined,
});

const deeds = {
  start: () => broker.start(),
};

export type EmbeddedBrokerDeeds = typeof deeds;

serveParent(deeds);
