import { describe, expect, it } from 'vitest';
import { Home, minuteMs, secondMs } from './home.ts';

const budget = 60;
const begins = '2026-03-02T09:00:00Z';

type Flood = (home: Home, count: number) => readonly [path: string, payload: string];

/** What a client may publish five times a second, whether in malice or in a loop. */
const floods: readonly (readonly [what: string, flood: Flood])[] = [
  ['actions on an incident that nobody knows', () => ['incident/stranger/action', 'resolve']],
  ['actions on incidents that nobody knows', (_, count) => [`incident/stranger-${count}/action`, 'resolve']],
  ['names', ({ sonicId }, count) => [`sonic/${sonicId}/name/set`, `Name ${count}`]],
  [
    'settings',
    ({ propertyId }, count) => [
      `property/${propertyId}/settings/pressure_tests_enabled/set`,
      count % 2 ? 'ON' : 'OFF',
    ],
  ],
  ['pressure tests', ({ sonicId }) => [`sonic/${sonicId}/pressure_test/start`, 'PRESS']],
  ['pauses', ({ propertyId }, count) => [`property/${propertyId}/pause/set`, count % 2 ? '5' : '0']],
  ['refreshes', () => ['bridge/refresh', 'PRESS']],
  ['words that no valve knows', ({ sonicId }) => [`sonic/${sonicId}/valve/set`, 'TOGGLE']],
  [
    'requests that read',
    ({ sonicId }) => ['bridge/request/read_sonic', JSON.stringify({ params: { sonic_id: sonicId } })],
  ],
  [
    'requests that change',
    ({ signalId }, count) => [
      'bridge/request/update_signal',
      JSON.stringify({ params: { signal_id: signalId }, body: { name: `Name ${count}` } }),
    ],
  ],
];

/** Publishes five messages a second for two minutes. */
function flood(home: Home, messageOf: Flood): void {
  for (let count = 0; count < 600; count++) {
    const [path, payload] = messageOf(home, count);
    home.time.after(200 * count, () => home.broker.publish(`sonic2mqtt/${path}`, payload, false));
  }
}

/** The most requests within any minute from then on. Requests about valves that move are not counted. */
function busiestMinute(home: Home, from: number): number {
  const sent = home.requests.filter(({ at }) => at >= from);
  const counted = sent.filter((request) => !home.valveCommands.includes(request));
  return Math.max(
    0,
    ...counted.map(({ at }) => counted.filter((other) => other.at > at - minuteMs && other.at <= at).length),
  );
}

describe('a flood of', () => {
  it.each(floods)('%s keeps to the budget, hides no leak and holds up no valve', async (_, messageOf) => {
    const home = new Home({
      begins,
      cloud: { sonics: 2 },
      config: { cloud: { max_requests_per_minute: budget }, schedules: {} },
    });
    await home.start();
    await home.pass(2 * minuteMs);
    const [, second = ''] = home.world.sonics.ids;
    const from = home.time.now;
    flood(home, messageOf);
    await home.pass(30 * secondMs);
    const leak = home.world.openIncident({ type: 'water_presence_detected', sonicId: second });
    await home.pass(minuteMs);
    expect(home.events('incident_opened').at(-1)).toMatchObject({ id: leak.id });
    home.broker.publish(`sonic2mqtt/sonic/${second}/valve/set`, 'CLOSE', false);
    await home.pass(secondMs);
    expect(home.valveCommands.filter(({ params }) => params['sonic_id'] === second)).toMatchObject([
      { status: 200 },
    ]);
    await home.pass(minuteMs);
    expect(home.json(`sonic/${second}`).valve).toBe('closed');
    // Each of the two vital lists is read once a minute, whatever the budget.
    expect(busiestMinute(home, from)).toBeLessThanOrEqual(budget + 2);
    const lines = home.linesFrom(from).filter((line) => /^(warn|error|fatal)/.test(line));
    expect(lines.length, lines.slice(0, 20).join('\n')).toBeLessThanOrEqual(330);
    await home.pass(2 * minuteMs);
    expect(home.json('bridge/health').status).toBe('ok');
    await home.stop();
  });

  it('commands opens a valve once a second, closes it at once, and ends with the newest', async () => {
    const home = new Home({ begins });
    await home.start();
    await home.pass(2 * minuteMs);
    const topic = `sonic2mqtt/sonic/${home.sonicId}/valve/set`;
    const say = (action: string) => home.broker.publish(topic, action, false);
    const from = home.time.now;
    flood(home, ({ sonicId }, count) => [`sonic/${sonicId}/valve/set`, count % 2 ? 'OPEN' : 'CLOSE']);
    await home.pass(2 * minuteMs);
    const sent = home.valveCommands.map(({ at, body }) => ({ at, action: JSON.parse(body).action }));
    const sentBy = (action: string) => sent.filter((each) => each.action === action);
    expect(sentBy('close')[0]?.at).toBeLessThan(from + 100);
    for (const action of ['open', 'close']) {
      expect(sentBy(action).length).toBeGreaterThan(30);
      expect(sentBy(action).length).toBeLessThanOrEqual(122);
    }
    expect(home.linesFrom(from).length).toBeLessThan(500);
    say('OPEN');
    await home.pass(100);
    say('CLOSE');
    await home.pass(100);
    expect(JSON.parse(home.valveCommands.at(-1)?.body ?? '').action).toBe('close');
    await home.pass(2 * minuteMs);
    expect(home.json(`sonic/${home.sonicId}`).valve).toBe('closed');
    expect(home.events('command')).toHaveLength(602);
    await home.stop();
  });
});
