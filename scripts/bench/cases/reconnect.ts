import { nowMs } from '../../measure/now.ts';
import type { Case } from '../case.ts';
import { republish, republishedBy, untilSocket } from '../republishing.ts';
import { mustKeep, rest, settled } from '../stage.ts';

/** The broker restarts with nothing retained. */
export const reconnect: Case = {
  name: 'reconnect',
  what: 'the broker has restarted empty: from the new connection until all is retained again',
  sizes: [1_000, 10_000],
  run: (bench, sonics) =>
    republish(
      bench,
      sonics,
      'reconnect',
      async ({ stage, bridge, script }) => {
        const { broker } = stage;
        await bridge.ask('watch');
        const restartedAtMs = nowMs();
        await broker.restart();
        await untilSocket('a new connection', bridge, broker, ({ opened, received }) => {
          return opened.atMs > restartedAtMs && received !== null;
        });
        await settled(stage, bridge);
        await mustKeep(broker, script);
        return republishedBy(await bridge.ask('sockets'), broker, 'opened');
      },
      async ({ raw, rawBroker, script }) => {
        await rawBroker.restart();
        await raw.ask('watch');
        await raw.ask('connect');
        await raw.ask('publishAll');
        await rest();
        await mustKeep(rawBroker, script);
        return republishedBy(await raw.ask('sockets'), rawBroker, 'opened');
      },
    ),
};
