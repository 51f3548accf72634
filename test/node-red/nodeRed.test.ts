import { mkdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { SimulatorOptions } from '../../src/simulator/simulator.ts';
import { startBridge } from '../support/bridge.ts';
import { chromiumAvailable, openTab, waitInTab } from '../support/chromium.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { takePicture } from '../support/pictures.ts';
import { startTcpProxy } from '../support/tcpProxy.ts';
import { waitFor } from '../support/waitFor.ts';
import { type Entered, type NodeRed, shownIn, startNodeRed } from './nodeRed.ts';

const credentials = { user: 'home', password: 'of the br@ker' };
const docs = process.env['PICTURES'];
const pictures = fileURLToPath(new URL('pictures/', import.meta.url));

const oneValve = { properties: 1, signals: 1, sonics: 1 };

/** A home where nothing is wrong, and a Node-RED on its broker with the flows of the project. */
async function startHome({
  files,
  variables = {},
  taps = [],
  cloud = oneValve,
  config = {},
  base = 'sonic2mqtt',
}: {
  files?: readonly string[];
  variables?: Entered['variables'];
  taps?: Entered['taps'];
  cloud?: SimulatorOptions;
  config?: Record<string, object>;
  base?: string;
} = {}) {
  const broker = { password: credentials };
  const bridge = await startBridge({ isStarted: false, cloud, broker, config });
  const { cloud: simulator } = bridge;
  for (const { id } of simulator.world.incidents.values()) simulator.world.closeIncident(id);
  const program = bridge.start();
  const { user: username, password } = credentials;
  const watcher = await watchTopics(bridge.broker.url, '#', {
    username,
    password,
    protocolVersion: 5,
    qos: 1,
  });
  const sonicIds = simulator.world.sonics.ids;
  for (const id of sonicIds) await watcher.waitForTopic(`${base}/sonic/${id}/usage`, undefined, 40_000);
  const entered = { brokerUrl: bridge.broker.url, ...credentials, variables, taps };
  const nodeRed = await startNodeRed({ ...entered, ...(files && { files }) });
  const { world } = simulator;
  const [sonicId = ''] = sonicIds;
  const record = `${base}/sonic/${sonicId}`;
  return {
    ...{ simulator, world, broker: bridge.broker, bridge: program, watcher, nodeRed, sonicId },
    names: sonicIds.map((id) => world.things.get(id)?.name ?? ''),
    becomes: (valve: string) =>
      watcher.waitForTopic(record, (text) => JSON.parse(text).valve === valve, 60_000),
    /** What was published to move a valve, by whomever. */
    commands: () => watcher.commands().map(({ topic, text, retain, qos }) => ({ topic, text, retain, qos })),
    /** What the flow has said of leaks. */
    said: () => nodeRed.debug.filter(({ name }) => name === 'What was done').map(({ text }) => text),
    says: (pattern: RegExp, timeoutMs?: number) => shownIn(nodeRed, 'What was done', pattern, timeoutMs),
    /** Starts the bridge again. */
    startBridge: () => bridge.start(),
  };
}

const armed = { ARMED_AT_START: 'true' };
const allAlerts = '["water_presence_detected","high_volume_alert","long_flow_alert"]';
/** The button of the dashboard with these words. */
const button = (words: string) =>
  `[...document.querySelectorAll('button')].find((each) => each.innerText.trim().toLowerCase() === '${words.toLowerCase()}')`;

/** Takes the picture of this name, and that of the documentation for `npm run pictures`. */
function look(nodeRed: NodeRed, name: string, texts: readonly string[], presses: readonly string[] = []) {
  mkdirSync(pictures, { recursive: true });
  return takePicture({
    url: `${nodeRed.url}/dashboard/water`,
    texts,
    presses,
    file: docs && name === 'dashboard' ? `${docs}/node-red.webp` : `${pictures}${name}.png`,
    width: 1100,
    height: 760,
  });
}

/** What the broker retains of the incidents at a valve while one of a type is open. */
const openIncidents = (type: string, id: string) =>
  JSON.stringify({ open_count: 1, open: { [type]: { id, type } } });

describe('a leak', () => {
  test('closes the valve of its sonic, once, and says when it is closed', async () => {
    const { simulator, world, watcher, sonicId, becomes, commands, said, says } = await startHome({
      variables: { ...armed, LEAK_TYPES: allAlerts },
    });
    const { id } = world.openIncident({ type: 'water_presence_detected', sonicId });
    await becomes('closed');
    await says(/^"?Kitchen, Willow Cottage: Leak\. Closing the valve\./);
    await says(/the valve is closed\./);
    // Somebody opens it, and the incidents come a second time, as a broker may deliver them.
    const topic = `sonic2mqtt/sonic/${sonicId}/valve/set`;
    await watcher.publish(topic, 'OPEN');
    await becomes('open');
    const incidents = `sonic2mqtt/sonic/${sonicId}/incidents`;
    await watcher.publish(incidents, watcher.last.get(incidents) ?? '', { retain: true });
    world.closeIncident(id);
    // A new leak closes it again, and one more closes what looks closed.
    world.openIncident({ type: 'long_flow_alert', sonicId });
    await says(/: Water running too long\. Closing the valve\./);
    await becomes('closed');
    world.openIncident({ type: 'high_volume_alert', sonicId });
    await says(/: High water use\. Closing the valve\./);
    await waitFor(() => simulator.requests.count('command_valve') === 4, { what: 'the last command' });
    const closing = { topic, text: 'CLOSE', retain: false, qos: 0 };
    expect(commands()).toEqual([closing, { ...closing, text: 'OPEN', qos: 1 }, closing, closing]);
    expect(said().filter((text) => text.includes(': Leak.'))).toHaveLength(1);
  });

  test('that was handled closes nothing after restarts of Node-RED, the broker and the bridge', async () => {
    const home = await startHome({ variables: { ...armed, LEAK_TYPES: allAlerts } });
    const { world, watcher, broker, nodeRed, sonicId, becomes, commands, said, says } = home;
    world.openIncident({ type: 'high_volume_alert', sonicId });
    await becomes('closed');
    await says(/the valve is closed/);
    await watcher.publish(`sonic2mqtt/sonic/${sonicId}/valve/set`, 'OPEN');
    await becomes('open');
    await nodeRed.restart();
    // This broker forgets everything. Node-RED then stores once more what it has done.
    await broker.restart();
    await nodeRed.connectedAgain();
    await watcher.waitForTopic('node-red/sonic2mqtt/leaks_handled', (text) => text.includes(sonicId), 60_000);
    await home.bridge.stop();
    await watcher.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'offline');
    home.startBridge();
    await becomes('open');
    await nodeRed.restart();
    // A later one shows that it was listening.
    world.openIncident({ type: 'water_presence_detected', sonicId });
    await says(/: Leak\. Closing the valve\./);
    await becomes('closed');
    expect(commands().map(({ text }) => text)).toEqual(['CLOSE', 'OPEN', 'CLOSE']);
    expect(said().filter((text) => text.includes(': High water use.'))).toHaveLength(1);
  });

  test('that opens while the broker is down closes its valve', async () => {
    const { world, broker, sonicId, becomes, commands, says } = await startHome({ variables: armed });
    await broker.stop();
    world.openIncident({ type: 'water_presence_detected', sonicId });
    await pause(5_000);
    await broker.restart();
    await says(/: Leak\. Closing the valve\./, 40_000);
    await becomes('closed');
    await says(/the valve is closed\./);
    expect(commands().map(({ text }) => text)).toEqual(['CLOSE']);
  });

  test('that opens while Node-RED is stopped closes its valve', async () => {
    const { world, watcher, nodeRed, sonicId, becomes, commands } = await startHome({ variables: armed });
    await nodeRed.restart(async () => {
      world.openIncident({ type: 'water_presence_detected', sonicId });
      await watcher.waitForTopic(`sonic2mqtt/sonic/${sonicId}/incidents`, (text) =>
        text.includes('"open_count":1'),
      );
    });
    await becomes('closed');
    expect(commands()).toHaveLength(1);
  });

  test('that opens again under its ID closes its valve again', async () => {
    const { world, watcher, sonicId, becomes, commands, says } = await startHome({ variables: armed });
    const { id } = world.openIncident({ type: 'water_presence_detected', sonicId });
    await becomes('closed');
    await says(/the valve is closed/);
    await watcher.publish(`sonic2mqtt/sonic/${sonicId}/valve/set`, 'OPEN');
    await becomes('open');
    world.actOnIncident(id, 'resolve');
    await watcher.waitForTopic(`sonic2mqtt/sonic/${sonicId}/incidents`, (text) =>
      text.includes('"open_count":0'),
    );
    world.actOnIncident(id, 'reopen');
    await becomes('closed');
    expect(commands().map(({ text }) => text)).toEqual(['CLOSE', 'OPEN', 'CLOSE']);
  });

  test('at a valve that is offline closes it when it is back, though Node-RED restarts meanwhile', async () => {
    const { world, nodeRed, sonicId, becomes, commands, says } = await startHome({ variables: armed });
    world.changeSonic(sonicId, { radio_connection: 'disconnected' });
    world.openIncident({ type: 'water_presence_detected', sonicId });
    await says(/THE VALVE IS OFFLINE\. Close it by hand\./, 60_000);
    await nodeRed.restart();
    expect(commands()).toEqual([]);
    world.changeSonic(sonicId, { radio_connection: 'connected' });
    await becomes('closed');
    await says(/the valve is closed/);
    expect(commands()).toHaveLength(1);
  });

  test('that names only a hub closes the valves of the hub', async () => {
    const { watcher, world, sonicId, becomes, commands, says } = await startHome({ variables: armed });
    const signalId = world.sonics.get(sonicId)?.signal_id;
    const topic = `sonic2mqtt/signal/${signalId}/incidents`;
    await watcher.waitForTopic(topic);
    await watcher.publish(topic, openIncidents('water_presence_detected', 'leak'), { retain: true });
    await says(/: Leak at its hub\. Closing the valve\./);
    await becomes('closed');
    expect(commands()).toHaveLength(1);
  });

  test('closes nothing while the switch is off, as it is at first; nor does what is no leak', async () => {
    const { world, sonicId, commands, said, says } = await startHome();
    world.openIncident({ type: 'low_battery_level', sonicId });
    world.openIncident({ type: 'water_presence_detected', sonicId });
    await says(/: Leak\. The switch is off, so the valve stays as it is\./);
    expect(commands()).toEqual([]);
    expect(said()).toHaveLength(1);
  });

  test('is told of loudly if the valve does not follow: what the bridge says', async () => {
    const { world, sonicId, commands, says } = await startHome({
      variables: armed,
      cloud: { ...oneValve, valveTravelMs: 600_000 },
      config: { valve: { confirm_timeout: '3s' } },
    });
    world.openIncident({ type: 'water_presence_detected', sonicId });
    await says(/THE VALVE DID NOT CLOSE \(not confirmed\)\. Close it by hand\./);
    expect(commands()).toHaveLength(1);
  });

  test('is told of loudly if nobody says anything, and its command does not wait for anybody', async () => {
    const {
      watcher,
      bridge: program,
      sonicId,
      says,
    } = await startHome({
      variables: { ...armed, WAIT_SECONDS: '2' },
    });
    program.signal('SIGSTOP');
    const topic = `sonic2mqtt/sonic/${sonicId}/incidents`;
    await watcher.publish(topic, openIncidents('water_presence_detected', 'leak'), { retain: true });
    await says(/THE VALVE DID NOT CLOSE \(no answer in time\)/);
    const [command] = watcher.commands();
    expect(command?.properties?.messageExpiryInterval).toBe(30);
    program.signal('SIGCONT');
  });
});

test('a valve that looks closed is told to close, and is said to be closed only if the command was accepted', async () => {
  const {
    watcher,
    world,
    bridge: program,
    sonicId,
    becomes,
    commands,
    said,
    says,
  } = await startHome({
    variables: { ...armed, WAIT_SECONDS: '5' },
  });
  const topic = `sonic2mqtt/sonic/${sonicId}/valve/set`;
  await watcher.publish(topic, 'CLOSE');
  await becomes('closed');
  const { id } = world.openIncident({ type: 'water_presence_detected', sonicId });
  await says(/the valve is closed\./);
  expect(commands()).toHaveLength(2);
  program.signal('SIGSTOP');
  const incidents = `sonic2mqtt/sonic/${sonicId}/incidents`;
  await watcher.publish(incidents, openIncidents('water_presence_detected', `not ${id}`), { retain: true });
  await says(/THE VALVE DID NOT CLOSE \(no answer in time\)/);
  expect(said().filter((text) => text.includes('is closed.'))).toHaveLength(1);
  program.signal('SIGCONT');
});

test('a leak closes its valve without a dashboard once that is turned on, and not after a restart', async () => {
  const { world, nodeRed, sonicId, becomes, commands, said, says } = await startHome({
    files: ['leak-without-dashboard.json'],
    variables: { LEAK_TYPES: allAlerts },
  });
  world.openIncident({ type: 'high_volume_alert', sonicId });
  await says(/: High water use\. The switch is off, so the valve stays as it is\./);
  expect(commands()).toEqual([]);
  // The leak is still open.
  await nodeRed.inject('Turn on');
  await becomes('closed');
  await says(/the valve is closed\./);
  await nodeRed.restart();
  world.openIncident({ type: 'long_flow_alert', sonicId });
  await says(/: Water running too long\. The switch is off/);
  expect(commands().map(({ text }) => text)).toEqual(['CLOSE']);
  expect(said()).toHaveLength(4);
});

describe('a request', () => {
  test('is answered to whoever asked, and to nobody else', async () => {
    const { world, watcher, nodeRed, sonicId } = await startHome();
    const { id } = world.openIncident({ type: 'water_presence_detected', sonicId });
    const forged = { status: 'ok', data: 'forged', transaction: 'toString' };
    await watcher.publish('node-red/sonic2mqtt/answers', JSON.stringify(forged));
    await nodeRed.inject('Open alerts');
    const { text } = await shownIn(nodeRed, 'Answer', /water_presence_detected/);
    expect(text).toContain(id);
    expect(nodeRed.debug.filter(({ name }) => name === 'Answer')).toHaveLength(1);
    const isRequest = ({ topic }: { topic: string }) => topic === 'sonic2mqtt/bridge/request/list_incidents';
    const asked = await watcher.waitForMessage(isRequest, { what: 'the request' });
    expect(asked.properties?.responseTopic).toBe('node-red/sonic2mqtt/answers');
    expect(asked.retain).toBe(false);
  });

  test('that is refused says why, and one that nobody answers ends', async () => {
    const { bridge: program, nodeRed } = await startHome({
      config: { cloud: { routes: { list_incidents: null } } },
    });
    await nodeRed.inject('Open alerts');
    await shownIn(nodeRed, 'Refused', /unsupported/);
    await program.stop('SIGKILL');
    await nodeRed.inject('Open alerts');
    await shownIn(nodeRed, 'Nobody answered', /timeout/i, 25_000);
  });
});

test('the chart is fed with the days of each sonic', async () => {
  const { watcher, nodeRed, sonicId, names } = await startHome({ taps: ['Last days'] });
  const { days } = JSON.parse(await watcher.waitForTopic(`sonic2mqtt/sonic/${sonicId}/usage`));
  const shown = Object.entries(days).slice(-14);
  const [lastDay = '', litres] = shown.at(-1) ?? [];
  const last = { day: lastDay.slice(5), name: names[0], litres };
  const { text } = await shownIn(nodeRed, 'Last days', new RegExp(`"name": *"${names[0]}"`));
  expect(JSON.parse(text)).toHaveLength(shown.length);
  expect(JSON.parse(text).at(-1)).toEqual(last);
});

test('all of it follows another base topic, entered in one place', async () => {
  const { world, nodeRed, sonicId, becomes } = await startHome({
    variables: { ...armed, SONIC2MQTT_TOPIC: 'home/water' },
    config: { mqtt: { base_topic: 'home/water' } },
    base: 'home/water',
  });
  world.openIncident({ type: 'water_presence_detected', sonicId });
  await becomes('closed');
  await nodeRed.inject('Open alerts');
  await shownIn(nodeRed, 'Answer', /water_presence_detected/);
});

describe.runIf(chromiumAvailable())('the dashboard', () => {
  test('shows valves, what was done at a leak, and usage', async () => {
    const { world, nodeRed, sonicId, names, says } = await startHome({ cloud: { ...oneValve, sonics: 3 } });
    world.openIncident({ type: 'water_presence_detected', sonicId });
    await says(/The switch is off/);
    const shown = await look(nodeRed, 'dashboard', [...names, 'open', 'Litres a day', 'The switch is off']);
    expect(shown).toContain('high');
  });

  test('moves a valve when that was confirmed, and not before', async () => {
    const { nodeRed, names, becomes, commands } = await startHome();
    await look(nodeRed, 'asked', [`Close the valve ${names[0]}?`], [button('Close')]);
    await look(nodeRed, 'cancelled', ['open'], [button('Close'), button('Cancel')]);
    expect(commands()).toEqual([]);
    await look(nodeRed, 'closed', ['closed'], [button('Close'), button('Close it')]);
    await becomes('closed');
    expect(commands()).toMatchObject([{ text: 'CLOSE', retain: false, qos: 0 }]);
    // Neither a restart nor a page that is opened again sends it once more.
    await nodeRed.restart();
    await look(nodeRed, 'restarted', ['closed']);
    expect(commands()).toHaveLength(1);
  });

  test('arms the leak', async () => {
    const { world, nodeRed, sonicId, becomes } = await startHome();
    const armSwitch = "document.querySelector('input[type=checkbox]')";
    await look(nodeRed, 'armed', ['Close the valve at a leak'], [armSwitch]);
    world.openIncident({ type: 'water_presence_detected', sonicId });
    await becomes('closed');
  });

  test('takes no click while it has no connection to Node-RED, and none that was held up', async () => {
    const { world, nodeRed, sonicId, becomes, commands, says } = await startHome();
    const proxy = await startTcpProxy(Number(new URL(nodeRed.url).port));
    const url = `http://127.0.0.1:${proxy.port}/dashboard/water`;
    const tab = await openTab(url, { width: 1100, height: 760 });
    const armSwitch = "document.querySelector('input[type=checkbox]')";
    const click = (it: string) =>
      waitInTab(
        tab,
        `(() => { const it = ${it}; if (!it || it.disabled) return false; it.click(); return true; })()`,
        60_000,
      );
    const isDisabled = (it: string) => waitInTab(tab, `${it}?.disabled === true`, 60_000);
    const shows = (text: string, times = 1) =>
      waitInTab(tab, `document.body.innerText.split('${text}').length > ${times}`, 60_000);
    await click(button('Close'));
    await waitInTab(tab, `${button('Close it')} && !${armSwitch}.disabled`, 60_000);
    // The connection hangs, and nobody can tell yet.
    proxy.freeze();
    await click(button('Close it'));
    await click(armSwitch);
    await isDisabled(armSwitch);
    await shows('No connection to Node-RED.');
    await pause(12_000);
    proxy.thaw();
    await shows('The click came too late. Try again.', 2);
    await waitInTab(tab, `!${armSwitch}.disabled && !${armSwitch}.checked`, 60_000);
    world.openIncident({ type: 'water_presence_detected', sonicId });
    await says(/The switch is off/);
    expect(commands()).toEqual([]);
    // The page knows that it is not connected.
    proxy.cut();
    await isDisabled(button('Close'));
    await isDisabled(armSwitch);
    proxy.repair();
    await click(button('Close'));
    await click(button('Close it'));
    await becomes('closed');
    expect(commands()).toHaveLength(1);
    await tab.close();
  });

  test('says that it knows nothing new while the bridge or the broker is away', async () => {
    const { bridge: program, broker, nodeRed } = await startHome();
    await program.stop();
    await look(nodeRed, 'away', ['The bridge is offline.', 'open?']);
    await broker.stop();
    await look(nodeRed, 'lost', ['Node-RED has no connection to the broker', 'open?']);
  });
});
