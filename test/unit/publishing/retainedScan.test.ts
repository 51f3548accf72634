import { describe, expect, it } from 'vitest';
import { Topics } from '../../../src/homeassistant/topics.ts';
import { bridgeOf, type Shard } from '../../../src/model/shard.ts';
import { RetainedScan } from '../../../src/publishing/retainedScan.ts';

const two: Shard = { index: 0, count: 2 };
const idsFor = (index: number, start: string) =>
  Array.from({ length: 50 }, (_, number) => `${start}-${number}`).filter((id) => bridgeOf(id, 2) === index);
const [ours = ''] = idsFor(0, 'property');
const [theirs = ''] = idsFor(1, 'property');
const [id = ''] = idsFor(1, 'sonic');
const [stray = ''] = idsFor(0, 'stray');

/** What the broker keeps, as the bridge of that part finds it. */
function found(shard: Shard, kept: Readonly<Record<string, unknown>>): RetainedScan {
  const scan = new RetainedScan(new Topics('w', 'ha', shard), shard);
  for (const [topic, payload] of Object.entries(kept)) {
    scan.add(topic, typeof payload === 'string' ? payload : JSON.stringify(payload));
  }
  return scan;
}

const madeBy = (bridge: string) => ({
  availability: [{ topic: `w/${bridge}/state` }],
  components: { a: {} },
});
const topicOf = (device: string) => `ha/device/sonic2mqtt_${device}/config`;

describe('what is found on the broker', () => {
  const kept = {
    [topicOf(id)]: madeBy('bridge_1'),
    [`w/sonic/${id}`]: { id, property_id: ours },
    [`w/sonic/${id}/usage`]: {},
    [topicOf('far')]: madeBy('bridge_0'),
    'w/sonic/far': { id: 'far', property_id: theirs },
    'w/sonic/far/availability': 'online',
    [`w/property/${ours}/settings`]: {},
    [`w/property/${theirs}/settings`]: {},
    [`w/signal/${stray}`]: { id: stray, property_id: null },
    [topicOf(stray)]: madeBy('bridge_5'),
    'w/incident/near': { id: 'near', sonic_id: id, signal_id: null },
    'w/incident/away': { id: 'away', sonic_id: 'far' },
  };

  it('belongs to the bridge of the property that the record names, and of the id where it names none', () => {
    const scan = found(two, kept);
    expect(scan.states()).toEqual([
      `w/sonic/${id}`,
      `w/sonic/${id}/usage`,
      `w/property/${ours}/settings`,
      `w/signal/${stray}`,
      'w/incident/near',
    ]);
    expect(scan.discoveries().map(([topic]) => topic)).toEqual([topicOf(id), topicOf(stray)]);
    const others = found({ index: 1, count: 2 }, kept);
    const all = Object.keys(kept).toSorted();
    const both = [scan, others].flatMap((each) => [
      ...each.states(),
      ...each.discoveries().map(([topic]) => topic),
    ]);
    expect(both.toSorted()).toEqual(all);
  });

  it('belongs to a bridge that is alone, whoever has made it', () => {
    const scan = found({ index: 0, count: 1 }, kept);
    expect(scan.states().length + scan.discoveries().length).toBe(Object.keys(kept).length);
    expect(scan.leftBehind()).toEqual([]);
  });

  it('tells what this bridge has announced and another is to show', () => {
    expect(found(two, kept).leftBehind()).toEqual([{ kind: 'sonic', id: 'far' }]);
    expect(found({ index: 1, count: 2 }, kept).leftBehind()).toEqual([{ kind: 'sonic', id }]);
  });

  it('tells which incidents another bridge has shown', () => {
    expect(found(two, kept).incidentsOfOthers()).toEqual(['near']);
    expect(found({ index: 0, count: 1 }, kept).incidentsOfOthers()).toEqual(['near', 'away']);
  });

  it('tells how much water another bridge has counted', () => {
    const usage = {
      total: 7,
      days: {},
      last_reset: '2026-11-20T00:00:00+00:00',
      updated_at: '2026-11-20T12:00:00Z',
    };
    const { usage: counted } = found(two, {
      ...kept,
      [`w/sonic/${id}/usage`]: usage,
      'w/sonic/x/usage': 'x',
    });
    expect([...counted]).toEqual([[id, expect.objectContaining({ frozenMl: 7_000 })]]);
  });

  it('of a bridge that there is no more is the first one’s, unless that bridge is running', () => {
    const left = {
      [topicOf('bridge')]: madeBy('bridge'),
      'w/bridge/state': 'offline',
      'w/bridge/info': {},
      [topicOf('bridge_7')]: madeBy('bridge_7'),
      'w/bridge_7/state': 'online',
      'w/bridge_7/info': {},
      'w/bridge_1/info': {},
      [topicOf('bridge_0')]: madeBy('bridge_0'),
      'w/bridge_0/homeassistant': {},
      'w/bridge_0/info': {},
      'w/other/state': 'online',
    };
    const first = found(two, left);
    expect(first.states()).toEqual([
      'w/bridge/state',
      'w/bridge/info',
      'w/bridge_0/homeassistant',
      'w/bridge_0/info',
    ]);
    expect(first.discoveries().map(([topic]) => topic)).toEqual([topicOf('bridge'), topicOf('bridge_0')]);
    expect(found({ index: 1, count: 2 }, left).states()).toEqual(['w/bridge_1/info']);
  });

  it('may be anything: what cannot be read is the bridge’s of its id', () => {
    const odd = { [`w/sonic/${stray}`]: 'no JSON', [`w/incident/${stray}`]: '[]', [topicOf('x')]: '{}' };
    expect(found(two, odd).states()).toEqual([`w/sonic/${stray}`, `w/incident/${stray}`]);
    expect(found(two, odd).discoveries()).toEqual([]);
  });

  it('belongs to others if no bridge publishes it there, and is left alone', () => {
    const foreign = {
      'w/sonic/garden/moisture': '41',
      [`w/sonic/${stray}/note`]: 'behind the stairs',
      [`w/property/${ours}/valve`]: {},
      'w/sonic/über/usage': {},
      'w/bridge/note': {},
      [topicOf('x')]: '{}',
      [topicOf('y')]: { ...madeBy('bridge'), availability: [{ topic: 'other/bridge/state' }] },
    };
    const scan = found({ index: 0, count: 1 }, foreign);
    expect([scan.states(), scan.discoveries(), scan.removable(), scan.countOfOthers]).toEqual([
      [],
      [],
      [],
      0,
    ]);
    expect([...scan.strangers()]).toEqual([[topicOf('y'), 'other/bridge/state']]);
  });

  it('of the bridge is all removed before it is uninstalled, commands too, and nothing of the others', () => {
    const all = { ...kept, [`w/sonic/${id}/valve/set`]: 'OPEN', 'w/bridge_0/request/read_sonic': '{}' };
    const alone = found({ index: 0, count: 1 }, { ...all, [topicOf('y')]: { ...madeBy('x') } });
    expect(alone.removable().toSorted()).toEqual(Object.keys(all).toSorted());
    const one = found(two, all);
    // It has announced `far`, and the other bridge the sonic that is to be its own.
    expect(one.removable()).toEqual([
      topicOf('far'),
      topicOf(stray),
      'w/sonic/far',
      'w/sonic/far/availability',
      `w/property/${ours}/settings`,
      `w/signal/${stray}`,
      'w/incident/away',
      'w/bridge_0/request/read_sonic',
    ]);
  });
});
