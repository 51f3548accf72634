import type { Random } from '../../src/base/backoff.ts';
import { localDayAt } from '../../src/simulator/localTime.ts';
import { between, pick } from '../../src/simulator/random.ts';
import type { World } from '../../src/simulator/world.ts';

/** An event in the simulated cloud: by itself, by hand, or in the vendor's app. Returns a description. */
type WorldEvent = (world: World, random: Random) => string;

const incidentTypes = [
  ...['long_flow_alert', 'high_volume_alert', 'legionella_risk', 'low_temperature', 'health_check_failed'],
  ...['water_presence_detected', 'a_type_of_tomorrow'],
];

const moveByHand: WorldEvent = (world, random) => {
  const id = pick(random, world.thingIds);
  const state = pick(random, ['open', 'closed', 'faulty', 'pressure_test', 'sideways']) ?? 'open';
  if (id) world.setValve(id, state);
  return `the valve of ${id} is ${state}`;
};

const moveByPhone: WorldEvent = (world, random) => {
  const id = pick(random, world.thingIds);
  const action = random() < 0.5 ? 'open' : 'close';
  if (id) world.commandValve(id, action);
  return `somebody's phone asks to ${action} ${id}`;
};

const openIncident: WorldEvent = (world, random) => {
  const type = pick(random, incidentTypes) ?? '';
  const sonicId = pick(random, world.thingIds);
  if (!sonicId || [...world.incidents.values()].filter(({ open }) => open).length > 30) return 'nothing';
  return `incident ${world.openIncident({ type, sonicId }).id} opens: ${type} at ${sonicId}`;
};

const closeIncident: WorldEvent = (world, random) => {
  const incident = pick(
    random,
    [...world.incidents.values()].filter(({ open }) => open),
  );
  if (incident) world.closeIncident(incident.id);
  return `incident ${incident?.id} closes`;
};

const toggleRadio: WorldEvent = (world, random) => {
  const id = pick(random, world.thingIds);
  if (!id) return 'nothing';
  if (world.things.get(id)?.radio_connection === 'connected') world.dropRadio(id);
  else world.connectRadio(id);
  return `the radio of ${id} is ${world.things.get(id)?.radio_connection}`;
};

const toggleHubLink: WorldEvent = (world, random) => {
  const id = pick(random, world.signals.ids);
  if (!id) return 'nothing';
  if (world.signals.get(id)?.cloud_connection === 'connected') world.dropCloud(id);
  else world.connectCloud(id);
  return `the link of ${id} is ${world.signals.get(id)?.cloud_connection}`;
};

/** The vendor has a new word for a link, which itself stays as it is. */
const renameLink: WorldEvent = (world, random) => {
  const [id, hubId] = [pick(random, world.thingIds), pick(random, world.signals.ids)];
  if (!id || !hubId) return 'nothing';
  if (random() < 0.5) world.changeSonic(id, { radio_connection: 'roaming' });
  else world.signals.change(hubId, { cloud_connection: 'roaming' });
  return `a link of ${id} or ${hubId} has a word of tomorrow`;
};

const changeBattery: WorldEvent = (world, random) => {
  const id = pick(random, world.thingIds);
  if (id) world.changeSonic(id, { battery: pick(random, ['high', 'mid', 'low', 'solar']) ?? 'low' });
  return `the battery of ${id} is another`;
};

const addSonic: WorldEvent = (world) => {
  // Of a sonic without a hub, the cloud would not say whether it can be reached.
  if (world.thingIds.length >= 9 || world.signals.size === 0) return 'nothing';
  return `sonic ${world.addSonic().id} is new`;
};

const removeSonic: WorldEvent = (world, random) => {
  const id = pick(random, world.thingIds);
  if (!id || world.thingIds.length < 2) return 'nothing';
  for (const { id: incident, sonic_id } of [...world.incidents.values()]) {
    if (sonic_id === id) world.closeIncident(incident);
  }
  world.removeSonic(id);
  return `sonic ${id} is gone`;
};

const addProperty: WorldEvent = (world) => {
  if (world.properties.size >= 4) return 'nothing';
  const { id } = world.addProperty();
  return `property ${id} is new, with signal ${world.addSignal(id).id}`;
};

const removeProperty: WorldEvent = (world, random) => {
  const id = pick(random, world.properties.ids.slice(1));
  if (!id) return 'nothing';
  world.leaveProperty(id);
  return `property ${id} is gone`;
};

const renameProperty: WorldEvent = (world, random) => {
  const id = pick(random, world.properties.ids);
  if (!id) return 'nothing';
  const name = `House ${between(random, 1, 99)}`;
  world.properties.change(id, { name });
  return `property ${id} is called ${name}`;
};

const moveHub: WorldEvent = (world, random) => {
  const [id, to] = [pick(random, world.signals.ids), pick(random, world.properties.ids)];
  if (!id || !to) return 'nothing';
  world.moveToProperty(id, to);
  return `signal ${id} moves to property ${to}`;
};

/** A home is sold while it leaks: the alert stays open, and its property is another. */
const moveHubAtLeak: WorldEvent = (world, random) => {
  const sonicId = pick(random, world.sonics.ids);
  const hub = world.sonics.get(sonicId ?? '')?.signal_id;
  const to = pick(random, world.properties.ids);
  if (!sonicId || !hub || !to) return 'nothing';
  const { id } = world.openIncident({ type: 'water_presence_detected', sonicId });
  world.moveToProperty(hub, to);
  return `incident ${id} opens at ${sonicId}, whose signal ${hub} moves to property ${to}`;
};

const moveSonicToHub: WorldEvent = (world, random) => {
  const [id, to] = [pick(random, world.sonics.ids), pick(random, world.signals.ids)];
  const sonic = world.sonics.get(id ?? '');
  if (!sonic || !to) return 'nothing';
  world.sonics.set(sonic.id, { ...sonic, signal_id: to });
  return `sonic ${id} belongs to signal ${to}`;
};

/** A new hub takes the place of an old one. The valves move to it with their alerts, and the old one's own stay open. */
const replaceHub: WorldEvent = (world, random) => {
  const id = pick(random, world.signals.ids);
  const propertyId = world.propertyOf(id ?? null);
  if (!id || !propertyId) return 'nothing';
  const [sonicIds, { id: newId }] = [world.sonicIdsOf(id), world.addSignal(propertyId)];
  for (const sonicId of sonicIds) {
    if (random() < 0.5) world.openIncident({ type: pick(random, incidentTypes) ?? '', sonicId });
    world.sonics.change(sonicId, { signal_id: newId });
  }
  world.signals.delete(id);
  world.moveToProperty(id, undefined);
  return `signal ${newId} replaces ${id} for ${sonicIds.length} sonics`;
};

const correctUsage: WorldEvent = (world, random) => {
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

const renameSonic: WorldEvent = (world, random) => {
  const id = pick(random, world.thingIds);
  if (id) world.changeSonic(id, { name: `Sonic ${between(random, 1, 99)}` });
  return `sonic ${id} has another name`;
};

const toggleShutOffInApp: WorldEvent = (world, random) => {
  const id = pick(random, world.properties.ids);
  if (!id) return 'nothing';
  const isOn = random() < 0.7;
  world.settings.change(id, { auto_shut_off: isOn });
  return `the shut-off of ${id} is turned ${isOn ? 'on' : 'off'} in the app`;
};

const events: readonly WorldEvent[] = [
  ...[
    moveByHand,
    moveByHand,
    moveByHand,
    moveByPhone,
    moveByPhone,
    openIncident,
    openIncident,
    openIncident,
    closeIncident,
    closeIncident,
    toggleRadio,
    toggleHubLink,
    renameLink,
    changeBattery,
  ],
  ...[
    addSonic,
    removeSonic,
    addProperty,
    removeProperty,
    correctUsage,
    renameSonic,
    renameProperty,
    moveHub,
    moveHubAtLeak,
    moveSonicToHub,
    replaceHub,
    toggleShutOffInApp,
  ],
];

/** Lets a random event happen. Returns a description. */
export function applyRandomEvent(world: World, random: Random): string {
  return (pick(random, events) ?? moveByHand)(world, random);
}
