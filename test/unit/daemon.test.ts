import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { loadConfig } from '../../src/config/load.ts';
import { Daemon } from '../../src/daemon.ts';
import { Simulator } from '../../src/simulator/simulator.ts';
import { type Disk, systemDisk } from '../../src/state/disk.ts';
import { fault, quick } from '../support/bridge.ts';
import { startEmbedded } from '../support/brokers.ts';
import { atTestEnd } from '../support/childProcess.ts';
import { logLines } from '../support/logLines.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { temporaryFolder } from '../support/program.ts';
import { startTcpProxy } from '../support/tcpProxy.ts';
import { waitFor } from '../support/waitFor.ts';

/** A simulated cloud, a broker behind a proxy, and a bridge between them within this process. */
async function startDaemon({
  disk,
  clock,
  env = {},
}: {
  disk?: Disk;
  clock?: Clock;
  env?: Record<string, string>;
} = {}) {
  const simulator = new Simulator({ quiet: true, properties: 1, signals: 1, sonics: 1 });
  await simulator.start();
  atTestEnd(() => simulator.stop());
  const { url, port } = await startEmbedded();
  const proxy = await startTcpProxy(port);
  const watcher = await watchTopics(url, ['sonic2mqtt/#', 'homeassistant/#']);
  const folder = temporaryFolder();
  const schedules = Object.entries(quick).map(([name, value]) => [
    `SONIC2MQTT_SCHEDULES__${name.toUpperCase()}`,
    value,
  ]);
  const { config } = loadConfig({
    cwd: folder,
    env: {
      SONIC2MQTT_CLOUD__BASE_URL: simulator.url,
      SONIC2MQTT_CLOUD__EMAIL: 'demo@example.com',
      SONIC2MQTT_CLOUD__PASSWORD: 'demo',
      SONIC2MQTT_CLOUD__REQUEST_TIMEOUT: '1s',
      SONIC2MQTT_CLOUD__MAX_REQUESTS_PER_MINUTE: '100000',
      SONIC2MQTT_MQTT__URL: `mqtt://127.0.0.1:${proxy.port}`,
      SONIC2MQTT_MQTT__PROTOCOL_VERSION: '4',
      ...Object.fromEntries(schedules),
      ...env,
    },
  });
  const { log, secrets } = logLines();
  // No wait is long here.
  const random = () => 0;
  const start = async () => {
    const started = new Daemon(config, log, secrets, {
      random,
      ...(disk && { disk }),
      ...(clock && { clock }),
    });
    await started.start();
    atTestEnd(() => started.stop());
    return started;
  };
  const daemon = await start();
  const { world } = simulator;
  const [sonicId = ''] = world.sonics.ids;
  await watcher.waitForTopic(`sonic2mqtt/sonic/${sonicId}/incidents`, () => true, 10_000);
  /** The incidents that the sonic's entity was told of, and when. */
  const announced = () =>
    watcher.messages
      .filter(({ topic }) => topic === `sonic2mqtt/sonic/${sonicId}/incident`)
      .map(({ text, atMs }) => ({ id: JSON.parse(text).id, atMs }));
  return { simulator, world, sonicId, proxy, watcher, daemon, start, announced };
}

/** A disk that can be made to take its time: what is written then is done only when it is let go on. */
function slowDisk() {
  let waiting: { readonly text: string; readonly resolve: () => void }[] = [];
  let isHeld = (_text: string) => false;
  const disk: Disk = {
    ...systemDisk,
    async write(path, text) {
      if (isHeld(text)) await new Promise<void>((resolve) => waiting.push({ text, resolve }));
      await systemDisk.write(path, text);
    },
  };
  const hold = (isNowHeld: (text: string) => boolean) => {
    isHeld = isNowHeld;
    const free = waiting.filter(({ text }) => !isHeld(text));
    waiting = waiting.filter(({ text }) => isHeld(text));
    for (const { resolve } of free) resolve();
  };
  return {
    disk,
    /** How much is being written, and will be for a while. */
    get waiting() {
      return waiting.length;
    },
    /** Holds what is written, or only such texts; what was held before and is none is written. */
    slowDown(isSuch = (_text: string) => true) {
      hold(isSuch);
    },
    goOn() {
      hold(() => false);
    },
  };
}

const seldom = Object.fromEntries(
  Object.keys(quick).map((name) => [`SONIC2MQTT_SCHEDULES__${name.toUpperCase()}`, '1h']),
);

/** No sooner than this after its entity was announced, Home Assistant hears an event. */
const twoSeconds = 2_000;

/** What is read of a home, besides its properties. */
const read = [
  ...['list_sonics', 'list_signals', 'list_incidents', 'list_property_signals', 'list_wifi_sonics'],
  ...['read_property_settings', 'read_notification_settings', 'read_telemetry', 'read_daily_usage'],
];

describe('the bridge', () => {
  it('is offline as soon as it vanishes, and when it has said goodbye', async () => {
    const { proxy, watcher, daemon } = await startDaemon();
    const isState = (wanted: string) =>
      watcher.waitForTopic('sonic2mqtt/bridge/state', (text) => text === wanted, 10_000);
    await isState('online');
    proxy.cut();
    await isState('offline');
    proxy.mend();
    await isState('online');
    await daemon.stop();
    expect(watcher.last.get('sonic2mqtt/bridge/state')).toBe('offline');
  });

  it('announces an incident only once it is noted on disk, so that no crash announces it twice', async () => {
    const slow = slowDisk();
    const { world, sonicId, watcher } = await startDaemon({ disk: slow.disk });
    const told = () =>
      watcher.messages.filter(({ text }) => text.includes(`"${id}"`) && text.includes('event'));
    slow.slowDown();
    const { id } = world.openIncident({ type: 'high_humidity', sonicId });
    await watcher.waitForTopic(`sonic2mqtt/incident/${id}`);
    await waitFor(() => slow.waiting > 0, { what: 'the note', timeoutMs: 10_000 });
    const meanwhile = async (name: string) => {
      world.sonics.change(sonicId, { name });
      await watcher.waitForTopic(`sonic2mqtt/sonic/${sonicId}`, (text) => text.includes(`"${name}"`));
    };
    await meanwhile('another');
    expect(told()).toEqual([]);
    slow.slowDown((text) => JSON.parse(text).announced.includes(id));
    await waitFor(() => told().length === 1, { what: 'the event of the bridge' });
    await waitFor(() => slow.waiting > 0, { what: 'the note of the second step', timeoutMs: 10_000 });
    await meanwhile('a third');
    expect(told()).toHaveLength(1);
    slow.goOn();
    await waitFor(() => told().length === 2, { what: 'the event and the incident' });
  });

  it('announces an incident that opened while the disk was busy with another, without a further poll', async () => {
    const slow = slowDisk();
    const { world, sonicId, watcher, announced } = await startDaemon({ disk: slow.disk, env: seldom });
    await waitFor(() => announced().length === 1, { what: 'what was open', timeoutMs: 10_000 });
    slow.slowDown();
    const open = async (type: 'high_humidity' | 'low_temperature') => {
      const { id } = world.openIncident({ type, sonicId });
      await watcher.publish('sonic2mqtt/bridge/refresh', '');
      await watcher.waitForTopic(`sonic2mqtt/incident/${id}`);
      return id;
    };
    const first = await open('high_humidity');
    await waitFor(() => slow.waiting > 0, { what: 'the note' });
    const second = await open('low_temperature');
    slow.goOn();
    await waitFor(() => announced().length === 3, { what: 'both' });
    expect(announced().slice(1)).toEqual([
      expect.objectContaining({ id: first }),
      expect.objectContaining({ id: second }),
    ]);
  });

  it('keeps an incident back for two seconds when Home Assistant starts while it is being noted', async () => {
    const slow = slowDisk();
    const { world, sonicId, watcher, announced } = await startDaemon({ disk: slow.disk });
    await waitFor(() => announced().length === 1, { what: 'what was open', timeoutMs: 10_000 });
    slow.slowDown();
    world.openIncident({ type: 'high_humidity', sonicId });
    await waitFor(() => slow.waiting > 0, { what: 'the note' });
    const from = watcher.messages.length;
    await watcher.publish('homeassistant/status', 'online');
    const isDiscovery = ({ topic }: { topic: string }) => topic.endsWith(`${sonicId}/config`);
    const discovery = await watcher.waitForMessage(isDiscovery, { what: 'its device', from });
    slow.goOn();
    await waitFor(() => announced().length === 2, { what: 'the incident' });
    expect((announced()[1]?.atMs ?? 0) - discovery.atMs).toBeGreaterThanOrEqual(twoSeconds);
    const told = watcher.messages.filter(({ text }) => text.includes('"incident_opened"'));
    expect(told).toHaveLength(2);
  });

  it('keeps an incident back until two seconds after the broker has its device, on a link however slow', async () => {
    let aheadMs = 0;
    const clock: Clock = { ...systemClock, monotonic: () => performance.now() + aheadMs };
    const { simulator, world, watcher, proxy } = await startDaemon({ clock });
    const polled = async (operation: 'list_sonics' | 'list_incidents') => {
      const before = simulator.requests.count(operation);
      await waitFor(() => simulator.requests.count(operation) > before + 2, { what: 'some polls' });
    };
    proxy.freeze();
    const { id } = world.addSonic(world.signals.ids[0] ?? '');
    await polled('list_sonics');
    world.openIncident({ type: 'high_humidity', sonicId: id });
    await polled('list_incidents');
    aheadMs = 5_000;
    await polled('list_incidents');
    const from = watcher.messages.length;
    proxy.thaw();
    const cameOf = (topic: string) =>
      watcher.waitForMessage((each) => each.topic === topic, { what: topic, from });
    const discovery = await cameOf(`homeassistant/device/sonic2mqtt_${id}/config`);
    const incident = await cameOf(`sonic2mqtt/sonic/${id}/incident`);
    expect(incident.atMs - discovery.atMs).toBeGreaterThanOrEqual(twoSeconds);
  });

  it('announces an incident that stays open no second time after a restart', async () => {
    const { world, sonicId, watcher, daemon, start } = await startDaemon();
    const toldOf = (id: string) =>
      watcher.messages.filter(({ topic, text }) => topic.endsWith('/incident') && text.includes(`"${id}"`));
    const { id: first } = world.openIncident({ type: 'high_humidity', sonicId });
    await waitFor(() => toldOf(first).length > 0, { what: 'the first incident', timeoutMs: 10_000 });
    await daemon.stop();
    await start();
    const { id: second } = world.openIncident({ type: 'low_temperature', sonicId });
    await waitFor(() => toldOf(second).length > 0, { what: 'the second incident', timeoutMs: 10_000 });
    expect(toldOf(first)).toHaveLength(1);
  });

  it('withdraws what a broker has got back from an old disk', async () => {
    const { proxy, watcher } = await startDaemon();
    const ghost = 'homeassistant/device/sonic2mqtt_ghost/config';
    proxy.cut();
    await watcher.waitForTopic('sonic2mqtt/bridge/state', (text) => text === 'offline');
    const availability = [{ topic: 'sonic2mqtt/bridge/state' }];
    await watcher.publish(ghost, JSON.stringify({ availability, components: {} }), { retain: true });
    await watcher.publish('sonic2mqtt/sonic/ghost', '{}', { retain: true });
    proxy.mend();
    for (const gone of [ghost, 'sonic2mqtt/sonic/ghost']) {
      const isDeleted = () => watcher.messages.some(({ topic, text }) => topic === gone && text === '');
      await waitFor(isDeleted, { what: `the end of ${gone}`, timeoutMs: 10_000 });
    }
  });

  it('changes no value while the cloud is away, and says that it is', async () => {
    const env = { SONIC2MQTT_STALE_AFTER: '1s' };
    const { simulator, world, sonicId, watcher } = await startDaemon({ env });
    await watcher.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'online');
    const [propertyId = ''] = world.properties.ids;
    await watcher.waitForTopic(`sonic2mqtt/property/${propertyId}/settings`);
    await watcher.waitForTopic(`sonic2mqtt/sonic/${sonicId}/usage`);
    const values = () => {
      const kept = [...watcher.last].filter(([topic]) =>
        /^sonic2mqtt\/(property|signal|sonic|incident)\//.test(topic),
      );
      return new Map(
        kept.filter(([topic]) => !/(availability|telemetry|homeassistant|incident)$/.test(topic)),
      );
    };
    const before = values();
    // That of the properties goes on, so that what hangs on them is asked for in vain.
    simulator.setFaults(read.map((operation) => fault(`error=503@${operation}`)));
    await watcher.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'offline');
    const polls = simulator.requests.count('read_property_settings');
    await waitFor(() => simulator.requests.count('read_property_settings') > polls + 1, {
      what: 'polls in vain',
    });
    expect(values()).toEqual(before);
    simulator.setFaults([]);
    await watcher.waitForTopic('sonic2mqtt/bridge/cloud', (text) => text === 'online');
    expect([...values().keys()]).toEqual([...before.keys()]);
  });
});
