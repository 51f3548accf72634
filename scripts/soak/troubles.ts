import { setTimeout as pause } from 'node:timers/promises';
import { pick } from '../../src/simulator/random.ts';
import { waitUntil } from '../measure/time.ts';
import { agreed, type House, readAgain } from './house.ts';

/** Something that happens once in each round. */
export interface Trouble {
  readonly name: string;
  readonly kind: 'outage' | 'broker' | 'change';
  readonly run: (house: House) => Promise<void>;
}

const changesPerKind = 3;
const sonicsThatMove = 5;
const sonicsCommanded = 3;
const births = 3;

/** A command may take as long as its request and a sign-in, and the machine may be busy. */
const longestEndMs = 20_000;

/** The cloud fails in this way for a while, with a command in the middle. */
function outage(name: string, ...faults: readonly string[]): Trouble {
  return {
    name,
    kind: 'outage',
    run: async (house) => {
      await house.cloud.ask('setFaults', faults);
      const topic = `sonic/${anySonic(house)}/valve/set`;
      await Promise.all([command(house, topic, 'OPEN'), pause(house.outageMs)]);
      await house.cloud.ask('setFaults', []);
    },
  };
}

/** A process answers nothing for a while, and then everything. */
function freeze(
  name: string,
  kind: Trouble['kind'],
  partOf: (house: House) => Pick<House['broker'], 'signal'>,
): Trouble {
  return {
    name,
    kind,
    run: async (house) => {
      partOf(house).signal('SIGSTOP');
      await pause(house.outageMs);
      partOf(house).signal('SIGCONT');
    },
  };
}

/** Everything that can be expected in some years. */
export const troubles: readonly Trouble[] = [
  outage('the cloud answers 503', 'error=503'),
  outage('the cloud never answers', 'hang'),
  outage('the cloud cuts connections', 'reset'),
  outage('the cloud shows a web page', 'html'),
  outage('the cloud asks to wait', 'rate-limit=1'),
  outage('half of the answers are errors', 'error=500:0.5', 'latency=20:0.5'),
  outage('one list is refused', 'error=403@list_sonics'),
  outage('records are odd', 'bad-record', 'unsafe-id', 'unknown-enum', 'long-name'),
  outage('lists move and lie', 'moving-pages', 'missing-page=2:0.3', 'lying-totals=7:0.3'),
  freeze('the cloud freezes', 'outage', ({ cloud }) => cloud),
  freeze('the broker freezes', 'broker', ({ broker }) => broker),
  {
    name: 'the broker restarts',
    kind: 'broker',
    run: async (house) => {
      await house.broker.restart();
      await agreed(house, 'everything to be on the broker again');
    },
  },
  {
    name: 'Home Assistant starts',
    kind: 'change',
    run: async ({ watcher, outageMs }) => {
      for (let birth = 0; birth < births; birth++) {
        await watcher.publish('homeassistant/status', 'online');
        await pause(outageMs / births);
      }
    },
  },
  {
    name: 'the sessions expire',
    kind: 'change',
    run: async (house) => {
      await house.cloud.ask('expireTokens');
      await readAgain(house);
    },
  },
  {
    name: 'valves, incidents, links, batteries, names and usage change',
    kind: 'change',
    run: async (house) => {
      await house.cloud.ask('change', changesPerKind);
      await agreed(house, 'the changes to show');
      await house.cloud.ask('restore');
    },
  },
  {
    name: 'sonics come and go',
    kind: 'change',
    run: async (house) => {
      await house.cloud.ask('hide', sonicsThatMove);
      await agreed(house, 'the sonics to be gone');
      await house.cloud.ask('restore');
      await house.cloud.ask('replaceOne');
      await agreed(house, 'the sonics to be back');
    },
  },
  {
    name: 'everything is commanded',
    kind: 'change',
    run: async (house) => {
      for (let count = 0; count < sonicsCommanded; count++) await commandAll(house);
    },
  },
  {
    name: 'nonsense is commanded',
    kind: 'change',
    run: async (house) => {
      const id = anySonic(house);
      await command(house, `sonic/${id}/valve/set`, 'HALF');
      await command(house, 'sonic/nobody/valve/set', 'CLOSE');
      await command(house, 'bridge/request/no_such_thing', '{');
      const retained = `sonic2mqtt/sonic/${id}/valve/set`;
      await command(house, `sonic/${id}/valve/set`, 'CLOSE', { retain: true });
      await house.watcher.publish(retained, '', { retain: true });
    },
  },
];

async function commandAll(house: House): Promise<void> {
  const id = anySonic(house);
  const [propertyId = ''] = (await house.cloud.ask('truth')).properties;
  // The newest of several replaces the others, and each has an outcome.
  const valves = ['CLOSE', 'OPEN', 'CLOSE', 'OPEN'].map((word) =>
    command(house, `sonic/${id}/valve/set`, word),
  );
  await Promise.all(valves);
  await command(house, `sonic/${id}/name/set`, `Tap ${Math.floor(house.random() * 1_000_000)}`);
  await command(house, `sonic/${id}/pressure_test/start`, 'PRESS');
  await command(house, `sonic/${id}/incidents/action`, 'snooze');
  for (const word of ['ON', 'OFF']) {
    await command(house, `property/${propertyId}/settings/auto_shut_off/set`, word);
  }
  await command(house, 'bridge/request/read_sonic', JSON.stringify({ params: { sonic_id: id } }));
  await command(house, 'bridge/request/list_incidents', JSON.stringify({ query: { page: 1 } }));
}

/** Sends a command, and resolves once its outcome is reported. That is promised for each one that the bridge receives. */
async function command(
  { watcher, happened }: House,
  path: string,
  payload: string,
  options: { readonly retain?: boolean } = {},
): Promise<void> {
  const topic = `sonic2mqtt/${path}`;
  const [before, losses] = [watcher.endsAt(topic), watcher.losses];
  const isHeard = () => watcher.endsAt(topic) > before;
  const missing = () => (isHeard() || watcher.losses > losses ? null : 'there is none');
  happened.commands += 1;
  await watcher.publish(topic, payload, options);
  await waitUntil(`the outcome of ${topic} ${payload}`, missing, longestEndMs);
  // A connection of the bridge that ends may take the message or its outcome along.
  if (!isHeard()) happened.unheard += 1;
}

function anySonic({ watcher, random }: House): string {
  const id = pick(random, [...watcher.valves.keys()]);
  if (id === undefined) throw new Error('no sonic is shown');
  return id;
}
