import { describe, expect, it } from 'vitest';
import { Topics } from '../../../src/homeassistant/topics.ts';
import { RetainedScan } from '../../../src/publishing/retainedScan.ts';

/** What the broker keeps, as the bridge finds it. */
function found(kept: Readonly<Record<string, unknown>>): RetainedScan {
  const scan = new RetainedScan(new Topics('w', 'ha'));
  for (const [topic, payload] of Object.entries(kept)) {
    scan.add(topic, typeof payload === 'string' ? payload : JSON.stringify(payload));
  }
  return scan;
}

const madeBy = (base: string) => ({
  availability: [{ topic: `${base}/bridge/state` }],
  components: { a: {} },
});
const topicOf = (device: string) => `ha/device/sonic2mqtt_${device}/config`;

describe('what is found on the broker', () => {
  const states = {
    'w/bridge/state': 'offline',
    'w/sonic/kitchen': { id: 'kitchen', signal_id: null },
    'w/sonic/kitchen/usage': {
      total: 7,
      days: {},
      last_reset: '2026-11-20T00:00:00+00:00',
      updated_at: '2026-11-20T12:00:00Z',
    },
    'w/sonic/bath': { id: 'bath', signal_id: 'hub' },
    'w/sonic/bath/usage': 'x',
    'w/property/home/pause': { until: '2026-11-20T13:00:00Z', state: 'paused', reason: null },
    'w/property/shop/pause': { until: null, state: 'none', reason: null },
    'w/incident/leak': '[]',
  };
  const discoveries = { [topicOf('kitchen')]: madeBy('w'), [topicOf('w_bridge')]: madeBy('w') };

  it('is every message of its own base topic', () => {
    const scan = found({ ...states, ...discoveries });
    expect([...scan.states]).toEqual(Object.keys(states));
    expect(scan.discoveries().map(([topic]) => topic)).toEqual(Object.keys(discoveries));
  });

  it('tells the water, the incidents, the pauses and the Wi-Fi valves of an earlier run', () => {
    const { usage, incidents, pauses, wifiSonics } = found(states);
    expect([...usage]).toEqual([['kitchen', expect.objectContaining({ frozenMl: 7_000 })]]);
    expect([...incidents]).toEqual(['leak']);
    expect([...pauses]).toEqual([
      ['home', { until: Date.parse('2026-11-20T13:00:00Z'), isOver: false }],
      ['shop', null],
    ]);
    expect([...wifiSonics]).toEqual(['kitchen']);
  });

  it('belongs to others if no bridge publishes it there, and is left alone', () => {
    const scan = found({
      'w/sonic/garden/moisture': '41',
      'w/sonic/kitchen/note': 'behind the stairs',
      'w/property/home/valve': {},
      'w/sonic/über/usage': {},
      'w/bridge/note': {},
      'w/other/state': 'online',
      [topicOf('x')]: '{}',
      [topicOf('y')]: madeBy('other'),
    });
    expect([[...scan.states], scan.discoveries(), scan.removable()]).toEqual([[], [], []]);
    expect([...scan.strangers()]).toEqual([[topicOf('y'), 'other/bridge/state']]);
  });

  it('is all removed before an uninstall, discovery messages first, and commands too', () => {
    const all = { ...states, 'w/sonic/kitchen/valve/set': 'OPEN', 'w/bridge/request/read_sonic': '{}' };
    expect(found({ ...all, ...discoveries, [topicOf('y')]: madeBy('x') }).removable()).toEqual([
      ...Object.keys(discoveries),
      ...Object.keys(all),
    ]);
  });
});
