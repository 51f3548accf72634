import type { Case } from '../case.ts';
import { Listener } from '../listener.ts';
import { republish, republishedBy, untilSocket } from '../republishing.ts';
import { rest, settled } from '../stage.ts';

const statusTopic = 'homeassistant/status';

/** Home Assistant announces itself; the bridge waits for up to 1.5 s on purpose, which is not counted. */
export const birth: Case = {
  name: 'birth',
  what: 'Home Assistant has started: from the first message until all was published again',
  sizes: [1_000, 10_000],
  run: (bench, sonics) =>
    republish(
      bench,
      sonics,
      'birth',
      async ({ stage, bridge }) => {
        const { broker } = stage;
        await bridge.ask('watch');
        const listener = await Listener.start(broker.url, [statusTopic]);
        // With QoS 1 the bridge would acknowledge it, which is no message.
        await listener.publish(statusTopic, 'online', 0);
        await untilSocket('the first acknowledgement', bridge, broker, ({ sent, received }) => {
          return sent !== null && received !== null && received.atMs > sent.atMs;
        });
        await settled(stage, bridge);
        await listener.stop();
        return republishedBy(await bridge.ask('sockets'), broker, 'sent');
      },
      async ({ raw, rawBroker }) => {
        const isConnected = (await raw.ask('sockets')).length > 0;
        if (!isConnected) await raw.ask('connect');
        await raw.ask('watch');
        await raw.ask('publishAll');
        await rest();
        return republishedBy(await raw.ask('sockets'), rawBroker, 'sent');
      },
    ),
};
