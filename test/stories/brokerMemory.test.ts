import { expect } from 'vitest';
import { expectWhole, pictureOf } from './brokerPicture.ts';
import type { Home } from './home.ts';
import { tell } from './words.ts';

/** What a story has kept of its home to compare it later. */
interface Before {
  readonly picture: ReadonlyMap<string, string>;
  readonly files: ReadonlyMap<string, string>;
  /** A running total of the valve. */
  readonly total: number;
}

const kept = new WeakMap<Home, Before>();
const before = (home: Home) => kept.get(home) ?? { picture: new Map(), files: new Map(), total: 0 };
const keep = (home: Home, change: Partial<Before>) => void kept.set(home, { ...before(home), ...change });
const configOf = (id: string) => `homeassistant/device/sonic2mqtt_${id}/config`;

const others = JSON.stringify({ availability: [{ topic: 'another/bridge/state' }], components: {} });
const foreign: Readonly<Record<string, string>> = {
  'homeassistant/device/sonic2mqtt_another/config': others,
  'homeassistant/device/sonic2mqtt_broken/config': '{"availability":',
  'homeassistant/sensor/somebody/config': '{}',
  'sonic2mqtt/notes': 'mine',
  'sonic2mqtt/sonic/attic/notes/mine': 'too',
  // Of a device that neither the state file nor the account knows.
  'sonic2mqtt/sonic/attic': '{}',
  'sonic2mqtt/incident/attic': '{}',
  'another/sonic/attic': '{}',
};

tell(import.meta.url, {
  keep: (home) => keep(home, { picture: pictureOf(home) }),
  save: (home) => keep(home, { files: new Map(home.disk.files) }),
  whole: (home) => {
    expectWhole(home, before(home).picture);
    return 'whole';
  },
  same: (home) => {
    expect(pictureOf(home)).toEqual(before(home).picture);
    const deletions = home.messages.filter(({ retain, payload }) => retain && payload === '').length;
    return `the same, ${deletions} deletions`;
  },
  deleted: (home) =>
    `${home.lines.filter(({ text }) => /removing entities|Deleted/.test(text)).length} deletions logged`,
  empty: ({ broker }, share) => broker.restart(Number(share)),
  vanish: ({ world }, id = '') => void world.incidents.delete(world.incidents.ids.at(-1) ?? id),
  shown: ({ broker }, share) => {
    broker.shownShare = Number(share);
  },
  birth: ({ broker }) => broker.publish('homeassistant/status', 'online', false),
  write: ({ broker, sonicId }, text = '') =>
    broker.publish(configOf(sonicId), text === 'nothing' ? '' : text, true),
  /** Retained messages whose topic has these words come a second late. */
  late: ({ wire, time }, words = '') =>
    wire.play({
      fromBroker: (packet, way) => {
        if (packet.cmd !== 'publish' || !packet.retain || !packet.topic.includes(words)) return false;
        time.after(1_000, () => way.toBridge(packet));
        return true;
      },
    }),
  lose: (home, how) => {
    if (how === 'lost') home.disk.files.clear();
    else if (how === 'damaged') home.disk.damage('cut');
    else if (how === 'unmounted') home.disk.fault = 'unmounted';
    else for (const [file, text] of before(home).files) home.disk.files.set(file, text);
  },
  topics: ({ broker, world }, name = '') =>
    `topics of ${name}: ${[...broker.retained.keys()].filter((topic) => /\/sonic\//.test(topic) && !world.sonics.ids.some((id) => topic.includes(id)))}`,
  move: ({ world, sonicId }) => world.valve(sonicId)?.command('close'),
  refuse: ({ broker, world }, name) => {
    const id = world.incidents.ids.at(-1);
    broker.refuses = (topic) => name !== undefined && topic === `sonic2mqtt/incident/${id}`;
  },
  foreign: (home) => {
    const { broker, sonicId } = home;
    keep(home, { picture: new Map(broker.retained) });
    for (const [topic, text] of Object.entries(foreign)) broker.publish(topic, text, true);
    broker.publish(`sonic2mqtt/sonic/${sonicId}`, '{"valve":"closed"}', true);
    broker.publish(`sonic2mqtt/sonic/${sonicId}/availability`, 'offline', true);
    broker.publish(configOf(sonicId), others, true);
  },
  theirs: (home) => {
    const { retained } = home.broker;
    const lost = Object.keys(foreign).filter((topic) => retained.get(topic) !== foreign[topic]);
    const topic = configOf(home.sonicId);
    const isOurs = retained.get(topic) === before(home).picture.get(topic);
    return `lost of others: ${lost}; discovery is ${isOurs ? 'ours' : 'theirs'}`;
  },
  /** Only the broker knows that so much more has run. */
  more: (home) => {
    const topic = `sonic2mqtt/sonic/${home.sonicId}/usage`;
    const usage = JSON.parse(home.broker.retained.get(topic) ?? '{}');
    keep(home, { total: usage.total + 5_000_000 });
    home.broker.publish(topic, JSON.stringify({ ...usage, total: usage.total + 5_000_000 }), true);
  },
  total: (home) => {
    const totals = home
      .published(`sonic/${home.sonicId}/usage`)
      .map(({ payload }) => JSON.parse(payload).total);
    const after = totals.slice(totals.indexOf(before(home).total)).filter((total) => total !== null);
    return after.every((total) => total >= before(home).total) ? 'the total stands' : `the total is ${after}`;
  },
  exact: ({ broker }) => {
    broker.listsRetained = false;
  },
});
