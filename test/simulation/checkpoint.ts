import { settledValve } from '../../src/model/valve.ts';
import { seededRandom } from '../../src/simulator/random.ts';
import { BridgeProcess, type Place } from './bridgeProcess.ts';
import { VirtualBroker } from './virtualBroker.ts';
import { VirtualDisk } from './virtualDisk.ts';
import type { Watch } from './watch.ts';

const minuteMs = 60_000;

/** What another bridge of the same account cannot know, or says of itself. */
const ownTopics = /^sonic2mqtt\/bridge\/|\/usage$|^homeassistant\/status$/;
const ownKeys = new Set([
  ...['valve', 'valve_travel_time', 'valve_travel_time_s', 'job_id', 'leak_protection', 'push'],
  ...['water_today', 'water_month', 'water_total'],
]);

/** What a bridge learns of a new day with its next poll, which may be a quarter of an hour or an hour away. */
const keysOfDay = ['water_yesterday', 'last_reset', 'pressure_tests_today', 'today_count'];

/**
 * After a quiet time the broker must hold just what a bridge that starts fresh, with an empty broker, makes of the same
 * cloud; and what the truth is known of must be true.
 */
export async function checkPicture(place: Place, watch: Watch, trace: (line: string) => void): Promise<void> {
  const { time, simulator, broker } = place;
  const silent = { handedOver: () => {}, taken: () => {}, delivered: () => {}, linked: () => {} };
  const reference = new VirtualBroker(time, seededRandom(1), silent);
  const other = new BridgeProcess({
    ...place,
    random: seededRandom(2),
    broker: reference,
    disk: new VirtualDisk(seededRandom(3)),
    strike: () => null,
    tap: { sent: () => {}, judged: () => {}, answered: () => {}, torn: () => {} },
    // Its own time is the machine's, and another in each run.
    logged: (line) => trace(`@@ ${line.trim().replace(/"time":"[^"]*",/, '')}`),
  });
  other.start();
  const isShown = await time.runWhile(other.shown, 2 * minuteMs);
  if (!isShown) watch.violated('a fresh bridge shows nothing within two minutes');
  await time.runUntil(time.now + minuteMs);
  other.kill();

  watch.counted('what is retained is what a fresh bridge makes of the cloud');
  const isYoung = isDayYoung(place);
  const ignored = new Set([...ownKeys, ...(isYoung ? keysOfDay : [])]);
  for (const [topic, payload] of reference.retained) {
    if (ownTopics.test(topic)) continue;
    const shown = broker.retained.get(topic);
    if (shown === undefined) watch.violated(`${topic} is missing on the broker`);
    else if (comparable(shown, ignored) !== comparable(payload, ignored)) {
      watch.violated(`${topic} is ${difference(shown, payload, ignored)}`);
    }
  }
  for (const topic of broker.retained.keys()) {
    const isCommand = /\/(set|action|start)$|\/bridge\/(request|refresh)/.test(topic);
    if (!isCommand && !ownTopics.test(topic) && !reference.retained.has(topic)) {
      watch.violated(`${topic} is stale on the broker`);
    }
  }
  for (const half of ['state', 'cloud']) {
    const word = broker.retained.get(`sonic2mqtt/bridge/${half}`);
    if (word !== 'online') watch.violated(`bridge/${half} is ${word} although all is well`);
  }
  const world = simulator.world;
  for (const id of world.thingIds) {
    watch.counted('a valve at rest is shown as it is');
    const state = world.things.get(id)?.valve_state ?? null;
    const shown = JSON.parse(broker.retained.get(`sonic2mqtt/sonic/${id}`) ?? '{}');
    const settled = settledValve(state);
    if (settled !== null && shown.valve !== settled)
      watch.violated(`${id} is ${state} and is shown ${shown.valve}`);
    if (state === 'pressure_test' && shown.valve === 'closed' && !watch.wasSaidClosed(id)) {
      watch.violated(`${id} is tested and is shown closed`);
    }
    if (!isYoung) checkLitres(place, watch, id);
  }
  for (const { id, open, sonic_id, signal_id } of world.incidents.values()) {
    const isPlaced = world.things.get(sonic_id ?? '') ?? world.signals.get(signal_id ?? '');
    if (!open || !isPlaced) continue;
    watch.counted('an open incident has been announced');
    if (!watch.isAnnounced(id)) watch.violated(`incident ${id} is open and was never announced`);
  }
}

/** Every day that is over has its litres, and the total is their sum. */
function checkLitres({ simulator, broker }: Place, watch: Watch, id: string): void {
  const text = broker.retained.get(`sonic2mqtt/sonic/${id}/usage`);
  if (text === undefined) {
    watch.violated(`the usage of ${id} is missing on the broker`);
    return;
  }
  const { days, total, today } = JSON.parse(text);
  const world = simulator.world;
  const thisMonth = world.usage(id).daily;
  for (const { date, liters } of thisMonth.slice(0, -1)) {
    watch.counted('no litre is lost');
    if (days[String(date)] !== liters)
      watch.violated(`${id} used ${liters} L on ${date}; shown are ${days[String(date)]}`);
  }
  watch.total(id, total === null || today === null ? null : Math.round((total - today) * 1_000));
}

/** In the first hour of a day the last litres of the day before may not have been asked for yet. */
function isDayYoung({ simulator: { world }, epochMs, time }: Place): boolean {
  return world.properties.ids.some((id) => {
    const timeZone = world.timezoneOf(id);
    const form = { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
    return new Intl.DateTimeFormat('en-GB', form).format(epochMs + time.now) < '01:10';
  });
}

function comparable(payload: string, ignored: ReadonlySet<string>): string {
  try {
    return JSON.stringify(JSON.parse(payload), (key, value) => (ignored.has(key) ? undefined : value));
  } catch {
    return payload;
  }
}

/** The fields that differ, for people. */
function difference(shown: string, wanted: string, ignored: ReadonlySet<string>): string {
  try {
    const [left, right] = [shown, wanted].map((each) => JSON.parse(comparable(each, ignored)));
    const keys = Object.keys({ ...left, ...right }).filter(
      (key) => JSON.stringify(left[key]) !== JSON.stringify(right[key]),
    );
    return keys
      .map((key) => `${key} ${JSON.stringify(left[key])} instead of ${JSON.stringify(right[key])}`)
      .join(', ')
      .slice(0, 600);
  } catch {
    return `${shown} instead of ${wanted}`;
  }
}
