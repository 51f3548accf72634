import type { Random } from '../base/backoff.ts';
import { runNightlyTests } from './pressureTests.ts';
import { between, pick } from './random.ts';
import type { World } from './world.ts';

/** A minute, or less of it where things happen faster. */
interface Pace {
  readonly minuteMs: number;
}

/** Something that happens by itself; the larger its weight, the more often. */
interface Happening {
  readonly weight: number;
  readonly happen: (world: World, random: Random, pace: Pace) => void;
}

const happenings: readonly Happening[] = [
  { weight: 4, happen: passingIncident(['high_volume_alert', 'long_flow_alert']) },
  {
    weight: 4,
    happen: passingIncident([
      'health_check_failed',
      'legionella_risk',
      'legionella_high_risk',
      'low_water_temperature',
      'water_presence_detected',
      'low_temperature',
      'high_temperature',
      'high_humidity',
      'advanced_valve_misalignment',
      'backup_battery_usage',
    ]),
  },
  { weight: 3, happen: radioDrops },
  { weight: 1, happen: hubLosesCloud },
  { weight: 2, happen: handIsLaidOn },
  { weight: 2, happen: batteryRunsDown },
  { weight: 4, happen: signalStrengthsChange },
];

const allWeights = happenings.reduce((sum, { weight }) => sum + weight, 0);

/**
 * Lets the world live: something every minute or two in a small one, more often in a large one, tests at night; `speed`
 * times as often.
 */
export function bringToLife(world: World, random: Random, speed: number): void {
  const minuteMs = 60_000 / speed;
  const meanMs = (1.5 * minuteMs) / Math.sqrt(Math.max(1, world.thingIds.length / 4));
  const wait = () => {
    world.agenda.after(meanMs * (0.5 + random()), () => {
      choose(random).happen(world, random, { minuteMs });
      wait();
    });
  };
  if (world.thingIds.length > 0) wait();
  runNightlyTests(world, random);
}

function choose(random: Random): Happening {
  let mark = random() * allWeights;
  for (const happening of happenings) {
    mark -= happening.weight;
    if (mark < 0) return happening;
  }
  return { weight: 0, happen: () => {} };
}

// The first sonic and its hub are spared by everything that keeps a valve from obeying, so that whoever tries
// things out on it sees them work.
const spared = (ids: readonly string[]) => ids.slice(1);

function passingIncident(types: readonly string[]) {
  return (world: World, random: Random, { minuteMs }: Pace) => {
    const type = pick(random, types);
    const sonicId = pick(random, world.thingIds);
    if (!type || !sonicId || world.openIncidentOf(type, sonicId)) return;
    const { id } = world.openIncident({ type, sonicId });
    world.agenda.after(between(random, 2, 6) * minuteMs, () => world.closeIncident(id));
  };
}

function radioDrops(world: World, random: Random, { minuteMs }: Pace): void {
  const sonicId = pick(random, spared(world.thingIds));
  if (!sonicId) return;
  world.dropRadio(sonicId);
  world.agenda.after(between(random, 1, 4) * minuteMs, () => world.connectRadio(sonicId));
}

function hubLosesCloud(world: World, random: Random, { minuteMs }: Pace): void {
  const signalId = pick(random, spared(world.signals.ids));
  if (!signalId) return;
  world.dropCloud(signalId);
  world.agenda.after(between(random, 1, 3) * minuteMs, () => world.connectCloud(signalId));
}

/** Somebody closes the valve at its handle, and opens it again some minutes later. */
function handIsLaidOn(world: World, random: Random, { minuteMs }: Pace): void {
  const sonicId = pick(random, spared(world.thingIds));
  if (!sonicId) return;
  const valve = world.valve(sonicId);
  if (!valve?.isResting || valve.settled === 'closed') return;
  valve.put('closed');
  const { id } = world.openIncident({ type: 'device_handle_moved', sonicId });
  world.agenda.after(between(random, 2, 5) * minuteMs, () => {
    if (valve.isResting) valve.put('open');
    world.closeIncident(id);
  });
}

/** One step down; a low one is an incident, sometimes too weak for the handle, and is replaced after a while. */
function batteryRunsDown(world: World, random: Random, { minuteMs }: Pace): void {
  const sonicId = pick(random, spared(world.thingIds));
  if (!sonicId) return;
  const valve = world.valve(sonicId);
  if (!valve) return;
  const battery = world.things.get(sonicId)?.battery;
  if (battery === 'high') world.changeSonic(sonicId, { battery: 'mid' });
  if (battery !== 'mid') return;
  world.changeSonic(sonicId, { battery: 'low' });
  valve.weak = random() < 0.3;
  const { id } = world.openIncident({ type: 'low_battery_level', sonicId });
  world.agenda.after(between(random, 5, 15) * minuteMs, () => {
    world.changeSonic(sonicId, { battery: 'high' });
    valve.weak = false;
    world.closeIncident(id);
    const stuck = world.openIncidentOf('battery_too_low_to_move_handle', sonicId);
    if (stuck) world.closeIncident(stuck.id);
  });
}

function signalStrengthsChange(world: World, random: Random): void {
  const sonicId = pick(random, world.thingIds);
  const signalId = pick(random, world.signals.ids);
  if (sonicId) world.changeSonic(sonicId, { radio_rssi: between(random, 120, 200) });
  if (signalId) world.signals.change(signalId, { wifi_rssi: -between(random, 42, 78) });
  if (sonicId && world.wifiSonics.has(sonicId)) {
    world.wifiSonics.change(sonicId, { wifi_rssi: -between(random, 42, 78) });
  }
}
