import { type CommandOutcome, startBridge, type TestBridge } from './bridge.ts';
import { waitFor } from './waitFor.ts';

/** A valid command. */
export interface SafetyCommand {
  readonly topic: string;
  readonly payload: string | Buffer;
}

/** A cloud in which each kind of command has its own target. */
const cloud = { properties: 2, signals: 2, sonics: 4 };

/**
 * Starts a bridge in whose cloud each kind of command has something to do. Waits until everything is
 * published.
 */
export async function startBridgeForCommands(
  options: Parameters<typeof startBridge>[0] = {},
): Promise<TestBridge> {
  const bridge = await startBridge({ ...options, cloud: { ...cloud, ...options.cloud }, isStarted: false });
  const { world } = bridge.cloud;
  const [first = '', second = ''] = world.signals.ids;
  const [sonic = ''] = world.thingIdsOf(world.propertyOf(first) ?? '');
  const [elsewhere = ''] = world.thingIdsOf(world.propertyOf(second) ?? '');
  world.openIncident({ type: 'low_temperature', sonicId: sonic });
  world.openIncident({ type: 'cloud_disconnection', signalId: first });
  world.openIncident({ type: 'legionella_risk', sonicId: elsewhere });
  if (options.isStarted !== false) {
    bridge.start();
    await shown(bridge);
  }
  return bridge;
}

/** Waits until the bridge has published every sonic, and the settings of every property. */
export async function shown({ mqtt, cloud: { world } }: TestBridge): Promise<void> {
  for (const id of world.sonics.ids) {
    await mqtt.waitForTopic(`sonic2mqtt/sonic/${id}/incidents`);
  }
  for (const id of world.properties.ids) {
    await mqtt.waitForTopic(`sonic2mqtt/property/${id}/notifications`);
  }
}

/** One valid command of each kind that changes the cloud. No two commands change the same. */
export function changingCommands({ cloud: { world } }: Pick<TestBridge, 'cloud'>): SafetyCommand[] {
  const [signal = '', second = ''] = world.signals.ids;
  const property = world.propertyOf(signal) ?? '';
  const other = world.propertyOf(second) ?? '';
  const [sonic = ''] = world.thingIdsOf(property);
  const [tested = ''] = world.sonics.ids.filter((id) => ![sonic, ...world.thingIdsOf(other)].includes(id));
  const incident = world.openIncidentOf('low_temperature', sonic)?.id ?? '';
  const [asked = ''] = world.thingIdsOf(other);
  const at = (path: string, payload: string) => ({ topic: `sonic2mqtt/${path}`, payload });
  const request = (operation: string, params: object, body: object) =>
    at(`bridge/request/${operation}`, JSON.stringify({ params, body }));
  return [
    at(`sonic/${sonic}/valve/set`, 'CLOSE'),
    at(`sonic/${sonic}/name/set`, 'Attic'),
    at(`sonic/${tested}/pressure_test/start`, 'PRESS'),
    at(`signal/${signal}/name/set`, 'Hub of the attic'),
    at(`signal/${signal}/incidents/action`, 'resolve'),
    at(`incident/${incident}/action`, 'snooze'),
    at(`property/${property}/name/set`, 'House'),
    at(`property/${property}/set`, '{"city":"Bath"}'),
    at(`property/${property}/active/set`, 'ON'),
    at(`property/${property}/settings/auto_shut_off/set`, 'OFF'),
    at(`property/${property}/settings/set`, '{"pressure_tests_enabled":false}'),
    at(`property/${property}/notifications/low_temperature/set`, 'OFF'),
    at(`property/${property}/notifications/set`, '{"high_temperature":false}'),
    at(`property/${property}/leak_protection/set`, 'ON'),
    at(`property/${property}/push/set`, 'OFF'),
    at(`property/${other}/incidents/action`, 'resolve'),
    at(`sonic/${asked}/valve/set`, 'CLOSE'),
    request('update_signal', { signal_id: second }, { name: 'Hub of the cellar' }),
  ];
}

/** The outcomes of commands so far, in order. */
export function outcomes(bridge: TestBridge): CommandOutcome[] {
  return bridge.outcomes().filter(({ reason }) => !reason?.includes(fenceWord));
}

const fenceWord = 'fence';
let fences = 0;

/**
 * Waits until the bridge has processed everything that was published before. It publishes a wrong value,
 * which the bridge rejects at once. A command without any effect by then has none.
 */
export async function fence(bridge: TestBridge): Promise<void> {
  const word = `${fenceWord} ${++fences}.`;
  await bridge.mqtt.publish('sonic2mqtt/bridge/log_level/set', word);
  await waitFor(() => bridge.events('command').some(({ reason }) => String(reason).includes(word)), {
    what: 'the bridge to take what was published',
  });
}

export async function publishAll({ mqtt }: TestBridge, commands: readonly SafetyCommand[]): Promise<void> {
  await Promise.all(commands.map(({ topic, payload }) => mqtt.publish(topic, payload)));
}

/** Publishes the commands and waits for as many outcomes. Then checks that no more come. */
export async function outcomesOf(
  bridge: TestBridge,
  commands: readonly SafetyCommand[],
  timeoutMs = 20_000,
): Promise<CommandOutcome[]> {
  const before = outcomes(bridge).length;
  await publishAll(bridge, commands);
  await waitFor(() => outcomes(bridge).length >= before + commands.length, {
    what: `${commands.length} outcomes`,
    timeoutMs,
  });
  await fence(bridge);
  return outcomes(bridge).slice(before);
}
