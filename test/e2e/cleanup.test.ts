import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Aedes } from 'aedes';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cleanup } from '../../src/cli/cleanup.ts';
import { Topics } from '../../src/homeassistant/topics.ts';
import { temporaryFolder } from '../support/program.ts';

const topics = new Topics('sonic2mqtt', 'homeassistant');

/** A broker that keeps these messages and shows them only to subscriptions without wildcards. */
async function brokerWith(kept: Readonly<Record<string, string>>) {
  const broker = await Aedes.createBroker();
  const retained = new Map(Object.entries(kept));
  const { persistence } = broker as unknown as {
    persistence: { createRetainedStreamCombi: (patterns: readonly string[]) => unknown };
  };
  const listed = persistence.createRetainedStreamCombi.bind(persistence);
  persistence.createRetainedStreamCombi = (patterns) =>
    listed(patterns.filter((pattern) => !/[+#]/.test(pattern)));
  for (const [topic, payload] of retained) {
    await new Promise<void>((done, fail) =>
      broker.publish(
        { cmd: 'publish', topic, payload: Buffer.from(payload), qos: 0, retain: true, dup: false },
        (error) => (error ? fail(error) : done()),
      ),
    );
  }
  broker.on('publish', ({ topic, payload, retain }) => {
    if (!retain) return;
    if (payload.length === 0) retained.delete(topic);
    else retained.set(topic, payload.toString());
  });
  const server = createServer((socket) => void broker.handle(socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    broker.close();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return { url: `mqtt://127.0.0.1:${port}`, left: () => [...retained.keys()].toSorted() };
}

/** Runs the command with a state file that knows these devices. */
async function run(url: string, devices: readonly string[], { force = false } = {}) {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'data'));
  writeFileSync(join(folder, 'data', 'state.json'), JSON.stringify({ devices, announced: ['leak'] }));
  const cloud = { email: 'me@example.com', password: 'secret' };
  const mqtt = { url, protocol_version: 4 };
  writeFileSync(join(folder, 'config.yaml'), JSON.stringify({ cloud, mqtt }));
  const printed: string[] = [];
  const code = await cleanup(
    {
      env: {},
      cwd: folder,
      print: (line) => void printed.push(line),
      complain: () => {},
      signal: new AbortController().signal,
      configFile: undefined,
      logLevel: undefined,
    },
    force ? { force } : {},
  );
  return { code, printed };
}

const madeBy = (base: string) =>
  JSON.stringify({ availability: [{ topic: `${base}/bridge/state` }], components: {} });

const ofValve = {
  [topics.discovery('sonic', 'a')]: madeBy('sonic2mqtt'),
  'sonic2mqtt/sonic/a': '{"id":"a"}',
  'sonic2mqtt/sonic/a/availability': 'online',
};
const ofBridge = {
  [topics.discovery('bridge', '')]: madeBy('sonic2mqtt'),
  'sonic2mqtt/bridge/info': '{}',
  'sonic2mqtt/bridge/state': 'offline',
};

describe('cleanup', () => {
  it('fails if the broker lists nothing, and deletes what data_dir knows unless the bridge runs', async () => {
    const unknown = {
      'sonic2mqtt/sonic/b': '{"id":"b"}',
      [topics.discovery('sonic', 'b')]: madeBy('sonic2mqtt'),
    };
    const foreign = { [topics.discovery('signal', 's')]: madeBy('trial') };
    const ofIncident = { 'sonic2mqtt/incident/leak': '{"id":"leak"}' };
    const own = { ...ofValve, ...ofBridge, ...ofIncident, 'sonic2mqtt/bridge/state': 'online' };
    const { url, left } = await brokerWith({ ...own, ...unknown, ...foreign });
    const devices = ['sonic/a', 'signal/s', 'nonsense'];
    expect(await run(url, devices)).toEqual({ code: 1, printed: [] });
    expect(left()).toHaveLength(10);
    expect(await run(url, devices, { force: true })).toEqual({
      code: 1,
      printed: ['Deleted 7 retained messages'],
    });
    expect(left()).toEqual(Object.keys({ ...unknown, ...foreign }).toSorted());
  });
});
