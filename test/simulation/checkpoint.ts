import { isSelected } from '../oracle/leakJudge.ts';
import type { Oracle } from '../oracle/oracle.ts';
import { type Place, recordTruths } from '../oracle/recordTruths.ts';
import type { BridgeEnvironment } from './bridgeProcess.ts';
import type { Observer } from './observer.ts';

const secondMs = 1_000;

/** Entities that are not compared: measurements, whose age is shown. */
const notCompared = /^sensor_(flow|pressure|water_temperature|telemetry_time)$/;

/** Entities that exist only if the cloud offers the operation that reads them. */
const readBy: Readonly<Record<string, string>> = { sensor_hub_status: 'read_hub' };

/** Entities whose field may be missing in a record. */
const optional = /auto_shut_off_(enabled|time_limit|volume_limit)$/;

/**
 * Checks the broker after a quiet time, in which no faults were simulated. Every device must be shown,
 * available, and exactly as it is in the cloud. Nothing else may be shown, and it must be possible to move a
 * valve. The oracle, which judges all the time, must allow for data on its way. After a quiet time nothing is
 * on its way.
 */
export async function checkSettledState(
  environment: BridgeEnvironment,
  observer: Observer,
  oracle: Oracle,
  selection: readonly string[],
) {
  const { simulator, broker } = environment;
  const { world } = simulator;
  const isShown = (propertyId: string | undefined) => isSelected(world, propertyId, selection);
  // The cloud does not tell the property of a sonic on Wi-Fi, so no filter can select it.
  const things = world.thingIds.filter(
    (id) => isShown(world.propertyOf(id)) && (selection.length === 0 || !world.wifiSonics.has(id)),
  );
  observer.countCheck('after a quiet time all is shown as it is');
  for (const half of ['state', 'cloud']) {
    const word = broker.retained.get(`sonic2mqtt/bridge/${half}`);
    if (word !== 'online') observer.reportViolation(`bridge/${half} is ${word} although all is well`);
  }
  const devices = [
    ...world.properties.ids.filter(isShown).map((id) => ['property', id] as const),
    ...world.signals.ids.filter((id) => isShown(world.propertyOf(id))).map((id) => ['signal', id] as const),
    ...things.map((id) => ['sonic', id] as const),
  ];
  for (const [kind, id] of devices)
    for (const words of problemsOf(kind, { world, id }, oracle, environment)) observer.reportViolation(words);
  // A property that was selected by its old name may be shown until the next start.
  const mayBeShown =
    selection.length > 0 ? [...world.properties.ids, ...world.signals.ids, ...world.thingIds] : [];
  checkLeftovers(environment, observer, new Set([...devices.map(([, id]) => id), ...mayBeShown]));
  const isYoung = isDayYoung(environment);
  for (const [kind, id] of devices) {
    if (kind === 'sonic' && !isYoung) checkLitres(environment, observer, id);
  }
  for (const incident of world.incidents.values()) {
    const isPlaced = world.things.get(incident.sonic_id ?? '') ?? world.signals.get(incident.signal_id ?? '');
    if (selection.length > 0 && isPlaced && world.wifiSonics.has(isPlaced.id)) continue;
    if (!incident.open || !isPlaced || !isShown(world.propertyOfIncident(incident))) continue;
    observer.countCheck('an open incident has been announced');
    if (!observer.isAnnounced(incident.id))
      observer.reportViolation(`incident ${incident.id} is open and was never announced`);
  }
  observer.countCheck('after a quiet time no pause has run over');
  for (const id of oracle.pauses.overdue(15 * 60 * secondMs))
    observer.reportViolation(`the shut-off of ${id} is still off after its pause although all is well`);
  for (const id of world.properties.ids.filter(isShown)) checkPause(environment, observer, oracle, id);
  await checkMove(environment, observer, things);
}

/** A pause is shown exactly while there is one, unless health says that it may be lost. */
function checkPause({ broker }: BridgeEnvironment, observer: Observer, oracle: Oracle, id: string): void {
  const { state } = JSON.parse(broker.retained.get(`sonic2mqtt/property/${id}/pause`) ?? '{}');
  const isPaused = oracle.pauses.isPaused(id);
  if (isPaused === null) return;
  const mayBeLost = /pause may be lost/.test(broker.retained.get('sonic2mqtt/bridge/health') ?? '');
  const isUnknown = state === undefined && mayBeLost;
  const isRight = isPaused ? state !== 'none' : state === 'none' || state === 'paused' || isUnknown;
  if (!isRight) observer.reportViolation(`the pause of ${id} is shown as ${state} although all is well`);
}

function* problemsOf(
  kind: keyof typeof recordTruths,
  device: Place,
  oracle: Oracle,
  environment: BridgeEnvironment,
): Generator<string> {
  for (const [componentId, truth] of Object.entries(recordTruths[kind])) {
    if (notCompared.test(componentId)) continue;
    const entity = oracle.entities.entity(device.id, componentId);
    const wanted = truth(device);
    const name = `${kind} ${device.id} ${componentId}`;
    if (!entity) {
      if (!optional.test(componentId) && !isNotOffered(environment, readBy[componentId]))
        yield `${name} is missing`;
    } else if (!oracle.entities.isAvailable(entity)) yield `${name} is unavailable although all is well`;
    else if (entity.state !== wanted && !isPermitted(componentId, device, entity.state))
      yield `${name} shows ${entity.state} and is ${wanted}`;
  }
}

/**
 * Whether a state is allowed although it differs. During a pressure test it depends on what the bridge saw
 * last. With several properties, the property of a sonic on Wi-Fi is unknown.
 */
function isPermitted(componentId: string, { world, id }: Place, state: unknown): boolean {
  const isTested = world.things.get(id)?.valve_state === 'pressure_test';
  if (componentId === 'valve_valve') return isTested;
  if (componentId === 'sensor_pressure_test_result' && isTested) return state === null;
  const isProperty = world.properties.has(id) && world.properties.size > 1;
  const isOnWifi = [...world.incidents.values()].some(
    ({ open, sonic_id: sonicId }) =>
      open && sonicId !== null && world.things.get(sonicId)?.signal_id === null,
  );
  if (isProperty && isOnWifi) return state === null || state === 'ON' || typeof state === 'number';
  return false;
}

/** No message is retained for a device or incident that does not exist. */
function checkLeftovers(
  { broker, simulator }: BridgeEnvironment,
  observer: Observer,
  ids: ReadonlySet<string>,
): void {
  const { world } = simulator;
  for (const [topic, payload] of broker.retained) {
    const [, kind = '', id = '', path = ''] =
      /^sonic2mqtt\/(property|signal|sonic|incident)\/([^/]+)(?:\/(.+))?$/.exec(topic) ??
      /^homeassistant\/(device)\/sonic2mqtt_([^/]+)\/config$/.exec(topic) ??
      [];
    if (id === '' || /(^|\/)(set|action|start)$/.test(path) || /bridge$/.test(id)) continue;
    // The bridge of another account announces its own devices.
    if (kind === 'device' && !payload.includes('"sonic2mqtt/bridge/state"')) continue;
    const isThere = kind === 'incident' ? world.incidents.get(id)?.open === true : ids.has(id);
    if (!isThere) observer.reportViolation(`${topic} is stale on the broker`);
  }
}

/** Moves a valve by a command. */
async function checkMove(
  { time, simulator, broker }: BridgeEnvironment,
  observer: Observer,
  ids: readonly string[],
) {
  const { world } = simulator;
  const id = ids.find((each) => ['open', 'closed'].includes(world.things.get(each)?.valve_state ?? ''));
  if (id === undefined) return;
  observer.countCheck('a valve can be moved');
  const [payload, wanted] =
    world.things.get(id)?.valve_state === 'open' ? ['CLOSE', 'closed'] : ['OPEN', 'open'];
  observer.addMoveOrder(id, payload.toLowerCase());
  broker.publish(`sonic2mqtt/sonic/${id}/valve/set`, payload, false);
  await time.runUntil(time.now + 30 * secondMs);
  const shown = JSON.parse(broker.retained.get(`sonic2mqtt/sonic/${id}`) ?? '{}').valve;
  if (shown !== wanted)
    observer.reportViolation(`${payload} for ${id} does nothing although all is well: it is ${shown}`);
}

/** For each past day, the litres on the broker are the litres in the cloud. */
function checkLitres(environment: BridgeEnvironment, observer: Observer, id: string): void {
  const { simulator, broker } = environment;
  if (isNotOffered(environment, 'read_daily_usage')) return;
  const text = broker.retained.get(`sonic2mqtt/sonic/${id}/usage`);
  if (text === undefined) {
    observer.reportViolation(`the usage of ${id} is missing on the broker`);
    return;
  }
  const { days } = JSON.parse(text);
  for (const { date, liters } of simulator.world.usage(id).daily.slice(0, -1)) {
    observer.countCheck('no litre is lost');
    if (days[String(date)] !== liters)
      observer.reportViolation(`${id} used ${liters} L on ${date}; shown are ${days[String(date)]}`);
  }
}

/**
 * The bridge does not repeat an operation that the cloud has answered with 404 since the start, until the
 * next start.
 */
function isNotOffered({ broker }: BridgeEnvironment, operation: string | undefined): boolean {
  const { operations } = JSON.parse(broker.retained.get('sonic2mqtt/bridge/info') ?? '{}');
  return operation !== undefined && operations?.[operation] === 'unavailable';
}

/** In the first hour of a day the bridge may not have read the last litres of the day before. */
function isDayYoung({ simulator: { world }, epochMs, time }: BridgeEnvironment): boolean {
  return [...world.properties.ids.map((id) => world.timezoneOf(id)), 'UTC'].some((timeZone) => {
    const form = { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
    return new Intl.DateTimeFormat('en-GB', form).format(epochMs + time.now) < '01:10';
  });
}
