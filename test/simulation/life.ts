import type { Random } from '../../src/base/backoff.ts';
import { localDayAt } from '../../src/simulator/localTime.ts';
import { between, pick } from '../../src/simulator/random.ts';
import type { World } from '../../src/simulator/world.ts';

/** Something that happens in the homes by itself, or by somebody's hand or phone. */
type Event = (world: World, random: Random) => string;

const incidentTypes = [
  ...['long_flow_alert', 'high_volume_alert', 'legionella_risk', 'low_temperature', 'health_check_failed'],
  ...['water_presence_detected', 'a_type_of_tomorrow'],
];

const hand: Event = (world, random) => {
  const id = pick(random, world.thingIds);
  const state = pick(random, ['open', 'closed', 'faulty', 'pressure_test', 'sideways']) ?? 'open';
  if (id) world.setValve(id, state);
  return `the valve of ${id} is ${state}`;
};

const phone: Event = (world, random) => {
  const id = pick(random, world.thingIds);
  const action = random() < 0.5 ? 'open' : 'close';
  if (id) world.commandValve(id, action);
  return `somebody's phone asks to ${action} ${id}`;
};

const opens: Event = (world, random) => {
  const type = pick(random, incidentTypes) ?? '';
  const sonicId = pick(random, world.thingIds);
  if (!sonicId || [...world.incidents.values()].filter(({ open }) => open).length > 30) return 'nothing';
  return `incident ${world.openIncident({ type, sonicId }).id} opens: ${type} at ${sonicId}`;
};

const closes: Event = (world, random) => {
  const incident = pick(
    random,
    [...world.incidents.values()].filter(({ open }) => open),
  );
  if (incident) world.closeIncident(incident.id);
  return `incident ${incident?.id} closes`;
};

const radio: Event = (world, random) => {
  const id = pick(random, world.thingIds);
  if (!id) return 'nothing';
  if (world.things.get(id)?.radio_connection === 'connected') world.dropRadio(id);
  else world.connectRadio(id);
  return `the radio of ${id} is ${world.things.get(id)?.radio_connection}`;
};

const link: Event = (world, random) => {
  const id = pick(random, world.signals.ids);
  if (!id) return 'nothing';
  if (world.signals.get(id)?.cloud_connection === 'connected') world.dropCloud(id);
  else world.connectCloud(id);
  return `the link of ${id} is ${world.signals.get(id)?.cloud_connection}`;
};

const battery: Event = (world, random) => {
  const id = pick(random, world.thingIds);
  if (id) world.changeSonic(id, { battery: pick(random, ['high', 'mid', 'low']) ?? 'low' });
  return `the battery of ${id} is another`;
};

const newSonic: Event = (world) => {
  if (world.thingIds.length >= 9) return 'nothing';
  return `sonic ${world.addSonic().id} is new`;
};

const goneSonic: Event = (world, random) => {
  const id = pick(random, world.thingIds);
  if (!id || world.thingIds.length < 2) return 'nothing';
  for (const { id: incident, sonic_id } of [...world.incidents.values()]) {
    if (sonic_id === id) world.closeIncident(incident);
  }
  world.removeSonic(id);
  return `sonic ${id} is gone`;
};

const newHome: Event = (world) => {
  if (world.properties.size >= 4) return 'nothing';
  const { id } = world.addProperty();
  return `property ${id} is new, with signal ${world.addSignal(id).id}`;
};

const goneHome: Event = (world, random) => {
  const id = pick(random, world.properties.ids.slice(1));
  if (!id) return 'nothing';
  world.leaveProperty(id);
  return `property ${id} is gone`;
};

const newAddress: Event = (world, random) => {
  const id = pick(random, world.properties.ids);
  if (!id) return 'nothing';
  const name = `House ${between(random, 1, 99)}`;
  world.properties.change(id, { name });
  return `property ${id} is called ${name}`;
};

const move: Event = (world, random) => {
  const [id, to] = [pick(random, world.signals.ids), pick(random, world.properties.ids)];
  if (!id || !to) return 'nothing';
  world.moveToProperty(id, to);
  return `signal ${id} moves to property ${to}`;
};

const rehang: Event = (world, random) => {
  const [id, to] = [pick(random, world.sonics.ids), pick(random, world.signals.ids)];
  const sonic = world.sonics.get(id ?? '');
  if (!sonic || !to) return 'nothing';
  world.sonics.set(sonic.id, { ...sonic, signal_id: to });
  return `sonic ${id} belongs to signal ${to}`;
};

const correction: Event = (world, random) => {
  const id = pick(random, world.thingIds);
  if (!id) return 'nothing';
  const { date } = localDayAt(world.now, world.timezoneOf(world.propertyOf(id)));
  const daily = world.usage(id).daily.filter((day) => day.date < date);
  const day = pick(random, daily);
  if (!day) return 'nothing';
  const liters = Math.round(Number(day.liters) * (0.5 + random()) * 10) / 10;
  world.correctUsage(id, day.date, liters);
  return `${day.date} at ${id} is corrected to ${liters} L`;
};

const name: Event = (world, random) => {
  const id = pick(random, world.thingIds);
  if (id) world.changeSonic(id, { name: `Sonic ${between(random, 1, 99)}` });
  return `sonic ${id} has another name`;
};

const app: Event = (world, random) => {
  const id = pick(random, world.properties.ids);
  if (!id) return 'nothing';
  const isOn = random() < 0.7;
  world.settings.change(id, { auto_shut_off: isOn });
  return `the shut-off of ${id} is turned ${isOn ? 'on' : 'off'} in the app`;
};

const events: readonly Event[] = [
  ...[hand, hand, hand, phone, phone, opens, opens, opens, closes, closes, radio, link, battery],
  ...[newSonic, goneSonic, newHome, goneHome, correction, name, newAddress, move, rehang, app],
];

/** Something happens; in words. */
export function happen(world: World, random: Random): string {
  return (pick(random, events) ?? hand)(world, random);
}
