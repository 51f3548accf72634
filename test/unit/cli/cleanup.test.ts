import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Aedes } from 'aedes';
import { afterAll, describe, expect, it } from 'vitest';
import { cleanup } from '../../../src/cli/cleanup.ts';
import { Topics } from '../../../src/homeassistant/topics.ts';
import { temporaryFolder } from '../../support/program.ts';

const topics = new Topics('sonic2mqtt', 'homeassistant');

const closers: (() => unknown)[] = [];
afterAll(() => Promise.all(closers.map((close) => close())));

/** Begins all cases. Each of them mostly waits for its broker, so they run beside each other, and tests only await them. */
function begun<Case, Result>(cases: readonly Case[], run: (each: Case) => Promise<Result>) {
  return cases.map((each) => {
    const result = run(each);
    result.catch(() => {});
    return { each, result };
  });
}

/** A broker that keeps these messages. Unless it lists them, it shows them only to subscriptions without wildcards. */
async function brokerWith(kept: Readonly<Record<string, string>>, { isListing = false } = {}) {
  const broker = await Aedes.createBroker();
  const retained = new Map(Object.entries(kept));
  const { persistence } = broker as unknown as {
    persistence: { createRetainedStreamCombi: (patterns: readonly string[]) => unknown };
  };
  const listed = persistence.createRetainedStreamCombi.bind(persistence);
  persistence.createRetainedStreamCombi = (patterns) =>
    listed(patterns.filter((pattern) => isListing || !/[+#]/.test(pattern)));
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
  closers.push(
    () => broker.close(),
    () => server.close(),
  );
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return { url: `mqtt://127.0.0.1:${port}`, left: () => [...retained.keys()].toSorted() };
}

/** Runs the command with a state file that has these sections. */
async function run(
  url: string,
  state: Readonly<Record<string, unknown>>,
  { force = false, cloud = { email: 'me@example.com', password: 'secret' } as object } = {},
) {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'data'));
  writeFileSync(join(folder, 'data', 'sonic2mqtt.json'), JSON.stringify(state));
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

const devices = { 'sonic/a': 'Kitchen', 'signal/s': '', 'incident/leak': '', nonsense: '' };
const foreign = {
  'sonic2mqtt/sonic/b': '{"id":"b"}',
  [topics.discovery('sonic', 'b')]: madeBy('sonic2mqtt'),
  [topics.discovery('signal', 's')]: madeBy('trial'),
};

async function cleanRunning() {
  const own = { ...ofValve, ...ofBridge, 'sonic2mqtt/incident/leak': '{"id":"leak"}' };
  const { url, left } = await brokerWith({ ...own, ...foreign, 'sonic2mqtt/bridge/state': 'online' });
  const first = await run(url, { devices });
  const leftFirst = left().length;
  return { first, leftFirst, forced: await run(url, { devices }, { force: true }), left: left() };
}

const until = new Date(Date.now() + 3_600_000).toISOString();
const pause = { until, minutes: 60, state: 'paused', reason: null };

/** Where a pause is known: to the state file, to the broker, or to both. */
const pauses = [
  {
    name: 'is known to the state file alone',
    kept: { until: Date.now() + 60_000, leftMs: 60_000, isOver: false, minutes: 60, reason: null },
  },
  {
    name: 'is over, and not proven so',
    kept: { until: Date.now(), leftMs: 0, isOver: true, minutes: 60, reason: null },
  },
  { name: 'is known to the broker alone', shown: pause },
  { name: 'is known to a broker that lists nothing', shown: pause, isListing: false },
  { name: 'could not be ended', shown: { ...pause, state: 'failed' } },
];

async function cleanPaused({ kept, shown, isListing = true }: Partial<(typeof pauses)[number]>) {
  const messages = {
    ...ofBridge,
    ...(shown && { 'sonic2mqtt/property/p/pause': JSON.stringify(shown) }),
    'sonic2mqtt/property/q/pause': JSON.stringify({ until: null, minutes: 0, state: 'none', reason: null }),
  };
  const { url, left } = await brokerWith(messages, { isListing });
  const state = { devices: { 'property/p': 'Home', 'property/q': '' }, pauses: kept ? { p: kept } : {} };
  const refused = await run(url, state);
  const leftRefused = left();
  const forced = await run(url, state, { force: true });
  return { refused, isUntouched: leftRefused.length === Object.keys(messages).length, forced };
}

describe('cleanup', () => {
  const [running] = begun([{}], cleanRunning);
  const paused = begun(pauses, cleanPaused);

  it('fails if the broker lists nothing, and deletes what data_dir knows unless the bridge runs', async () => {
    expect(await running?.result).toEqual({
      first: { code: 1, printed: [] },
      leftFirst: 10,
      forced: { code: 1, printed: ['Deleted 7 retained messages'] },
      left: Object.keys(foreign).toSorted(),
    });
  });

  it.each(paused)('deletes nothing if a pause $each.name, unless it is forced', async ({ result }) => {
    const { refused, isUntouched, forced } = await result;
    expect({ refused, isUntouched }).toEqual({ refused: { code: 1, printed: [] }, isUntouched: true });
    expect(forced.printed).toEqual([expect.stringMatching(/^Deleted \d+ retained messages$/)]);
  });
});
