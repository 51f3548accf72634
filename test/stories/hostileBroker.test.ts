import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unasked } from './hostile/askedFor.ts';
import { HostileHome } from './hostile/hostileHome.ts';
import { type HomeIds, hostileTraffic, type TimedMessage } from './hostile/hostileMessages.ts';
import { changeRequests, violationsOf } from './hostile/violations.ts';

/** How many bursts and trickles of messages are tried, each with dozens. The nightly run tries many more. */
const histories = Number(process.env['HOSTILE_RUNS'] ?? 6);

const minuteMs = 60_000;

const counts = { published: 0, 'taken in': 0, 'changes asked for': 0, answers: 0 };
const rejections: unknown[] = [];
const noteRejection = (error: unknown) => void rejections.push(error);

beforeAll(() => void process.on('unhandledRejection', noteRejection));
afterAll(() => {
  process.off('unhandledRejection', noteRejection);
  console.info('Messages of a hostile client:', counts);
});

function idsIn({ simulator: { world } }: HostileHome): HomeIds {
  const incidents = [...world.incidents.values()].map(({ id }) => id);
  return { properties: world.properties.ids, signals: world.signals.ids, things: world.thingIds, incidents };
}

/** Where an answer may go, in words of its own: what is asked for, unless the bridge or Home Assistant lives by it. */
function mayBeAnswered(topic: string): boolean {
  if (topic === '' || topic.startsWith('$') || topic.length > 65_535 || /[+#\p{Cc}]/u.test(topic))
    return false;
  if (topic.startsWith('sonic2mqtt/bridge/response/')) return true;
  return !/^(sonic2mqtt|homeassistant)(\/|$)/.test(topic);
}

const ownWords = /^sonic2mqtt\/(bridge\/event|bridge\/response\/[^/]*|(sonic|signal)\/[\w-]+\/incident)$/;

/** Live messages that are not for the eye only, and what goes to a topic of the bridge's own. */
function outcomeViolations(home: HostileHome, delivered: readonly TimedMessage[]): string[] {
  const found: string[] = [];
  const asked = new Map<string, number>();
  for (const { topic } of delivered) asked.set(topic, (asked.get(topic) ?? 0) + 1);
  for (const { topic, payload, retain } of home.handedOver) {
    if (retain) continue;
    const isWanted = delivered.some(({ responseTopic }) => responseTopic === topic);
    if (!ownWords.test(topic) && !(isWanted && mayBeAnswered(topic)))
      found.push(`something was said at ${topic}`);
    if (topic !== 'sonic2mqtt/bridge/event') {
      counts.answers += 1;
      continue;
    }
    const event = JSON.parse(payload);
    if (event.event !== 'command' || event.reason === 'not_confirmed') continue;
    const left = (asked.get(event.topic) ?? 0) - 1;
    asked.set(event.topic, left);
    if (left < 0) found.push(`an outcome too many: ${payload.slice(0, 300)}`);
  }
  return found;
}

/** What the broker keeps at a topic of the bridge is what the bridge has said there last. */
function overwritten(home: HostileHome, topics: Iterable<string>): string[] {
  const said = new Map(
    home.handedOver.filter(({ retain }) => retain).map(({ topic, payload }) => [topic, payload]),
  );
  return [...topics].filter(
    (topic) => said.get(topic) === undefined || said.get(topic) !== home.broker.retained.get(topic),
  );
}

async function endure(messages: readonly TimedMessage[]): Promise<void> {
  const home = new HostileHome();
  try {
    await home.start();
    await home.pass(10_000);
    const ours = [...home.broker.retained.keys()];
    violationsOf(home);
    const delivered: TimedMessage[] = [];
    for (const message of messages) {
      if (message.afterMs > 0) await home.pass(message.afterMs);
      counts.published += 1;
      if (message.retain) home.forge(message.topic, message.payload.toString());
      if (home.link.deliver(message)) delivered.push(message);
    }
    counts['taken in'] += delivered.length;
    await home.pass(3 * minuteMs);
    const changes = changeRequests(home);
    counts['changes asked for'] += changes.length;
    expect(unasked(changes, delivered, home.simulator.world.incidents.size)).toEqual([]);
    expect(outcomeViolations(home, delivered)).toEqual([]);
    expect(home.bridge.load.timers).toBeLessThan(100);
    // Whatever anybody has written there is right again with the next connection.
    home.handedOver.length = 0;
    home.broker.cut();
    await home.pass(2 * minuteMs);
    const { world } = home.simulator;
    const closed = [...world.incidents.values()]
      .filter(({ open }) => !open)
      .map(({ id }) => `sonic2mqtt/incident/${id}`);
    expect(
      overwritten(
        home,
        ours.filter((topic) => !closed.includes(topic)),
      ),
    ).toEqual([]);
    expect(violationsOf(home)).toEqual([]);
    for (const id of world.thingIds) {
      const shown = JSON.parse(home.broker.retained.get(`sonic2mqtt/sonic/${id}`) ?? '{}');
      expect(shown.valve_state).toBe(world.things.get(id)?.valve_state);
    }
    expect(rejections).toEqual([]);
  } finally {
    home.bridge.kill();
  }
}

describe('a hostile client of the broker', () => {
  it('does nothing but what it asks for, once, and leaves no trace', {
    timeout: 10_000 * histories,
  }, async () => {
    const home = new HostileHome();
    const traffic = hostileTraffic(idsIn(home));
    home.bridge.kill();
    await fc.assert(fc.asyncProperty(traffic, endure), { seed: histories, numRuns: histories });
    expect(counts['taken in']).toBeGreaterThan(40 * histories);
    expect(counts['changes asked for']).toBeGreaterThan(histories);
  });
});
