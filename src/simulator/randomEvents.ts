import type { Random } from '../base/backoff.ts';
import { runNightlyTests } from './pressureTests.ts';
import { between, pick } from './random.ts';
import type { World } from './world.ts';

/** Something that happens by itself. In a faster world, `minuteMs` is less than a minute. */
type RandomEvent = (world: World, random: Random, minuteMs: number) => void;

const leaks = ['high_volume_alert', 'long_flow_alert'];
const otherIncidents = [
  ...['health_check_failed', 'legionella_risk', 'legionella_high_risk', 'low_water_temperature'],
  ...['water_presence_detected', 'low_temperature', 'high_temperature', 'high_humidity'],
  ...['advanced_valve_misalignment', 'backup_battery_usage'],
];

const weights: readonly (readonly [weight: number, event: RandomEvent])[] = [
  [4, passingIncident(leaks)],
  [4, passingIncident(otherIncidents)],
  [3, dropRadio],
  [1, dropCloud],
  [2, turnHandle],
];
const events = weights.flatMap(([weight, event]) => Array.from({ length: weight }, () => event));

/**
 * Starts the random events: one every minute or two in a small world, more often in a large one, and tests at night.
 * They happen `speed` times as often as usual.
 */
export function startRandomEvents(world: World, random: Random, speed: number): void {
  const minuteMs = 60_000 / speed;
  const meanMs = (1.5 * minuteMs) / Math.sqrt(Math.max(1, world.thingIds.length / 4));
  const wait = () => {
    world.timeline.after(meanMs * (0.5 + random()), () => {
      pick(random, events)?.(world, random, minuteMs);
      wait();
    });
  };
  if (world.thingIds.length > 0) wait();
  runNightlyTests(world, random);
}

// No event keeps the valve of the first sonic from obeying, or cuts off its hub. So anyone who tries things out on this
// sonic sees them work.
const anySonicButFirst = (world: World, random: Random) => pick(random, world.thingIds.slice(1));

function passingIncident(types: readonly string[]): RandomEvent {
  return (world, random, minuteMs) => {
    const type = pick(random, types);
    const sonicId = pick(random, world.thingIds);
    if (!type || !sonicId || world.openIncidentOf(type, sonicId)) return;
    const { id } = world.openIncident({ type, sonicId });
    world.timeline.after(between(random, 2, 6) * minuteMs, () => world.closeIncident(id));
  };
}

function dropRadio(world: World, random: Random, minuteMs: number): void {
  const sonicId = anySonicButFirst(world, random);
  if (!sonicId) return;
  world.dropRadio(sonicId);
  world.timeline.after(between(random, 1, 4) * minuteMs, () => world.connectRadio(sonicId));
}

function dropCloud(world: World, random: Random, minuteMs: number): void {
  const signalId = pick(random, world.signals.ids.slice(1));
  if (!signalId) return;
  world.dropCloud(signalId);
  world.timeline.after(between(random, 1, 3) * minuteMs, () => world.connectCloud(signalId));
}

/** Somebody closes a valve by its handle, and opens it again some minutes later. */
function turnHandle(world: World, random: Random, minuteMs: number): void {
  const sonicId = anySonicButFirst(world, random);
  const valve = world.valve(sonicId ?? '');
  if (!sonicId || !valve?.isResting || valve.settled === 'closed') return;
  valve.put('closed');
  const { id } = world.openIncident({ type: 'device_handle_moved', sonicId });
  world.timeline.after(between(random, 2, 5) * minuteMs, () => {
    if (valve.isResting) valve.put('open');
    world.closeIncident(id);
  });
}
