import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer as createTcpServer, type Server } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import type { Packet } from 'mqtt';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startQuietHouse, warningsOf } from '../support/brokerStory.ts';
import type { Ending } from '../support/childProcess.ts';
import type { House } from '../support/house.ts';
import { mosquittoAvailable, startMosquitto } from '../support/mosquitto.ts';
import { startProgram, temporaryFolder } from '../support/program.ts';
import { type Script, startScriptedBroker, type Way } from '../support/scriptedBroker.ts';
import { waitFor } from '../support/waitFor.ts';

/** Answers the client's first packet so, whatever the broker says. */
const greeting = (answer: (way: Way) => void): Script => ({
  fromClient: ({ cmd }, way) => {
    if (cmd === 'connect') answer(way);
    return cmd === 'connect';
  },
});

const connack = (code: number) =>
  greeting((way) => {
    way.toClient({ cmd: 'connack', sessionPresent: false, reasonCode: code, returnCode: code });
    way.hangUp();
  });

/** Changes what the broker grants to each filter. */
const granting = (grant: (code: unknown, index: number) => number): Script => ({
  fromBroker: (packet, way) => {
    if (packet.cmd !== 'suback') return false;
    way.toClient({ ...packet, granted: [...packet.granted].map(grant) } as Packet);
    return true;
  },
});

interface Row {
  readonly name: string;
  readonly script: Script;
  readonly words: RegExp;
  readonly version?: 4 | 5;
  /** Each attempt takes ten seconds. */
  readonly isSlow?: true;
}

const greetings: readonly Row[] = [
  {
    name: 'resets the connection',
    script: greeting((way) => way.reset()),
    words: /the connection was reset/,
  },
  {
    name: 'breaks off in its first packet',
    script: greeting((way) => {
      way.toClient(Buffer.from([0x20]));
      way.hangUp();
    }),
    words: /the connection was closed/,
  },
  {
    name: 'is none, but garbage',
    script: greeting((way) => way.toClient(Buffer.from('\u0000\u0001\u00ff no MQTT at all \u0000'))),
    words: /does not speak MQTT \(is the port right\?\)/,
  },
  {
    name: 'lets garbage follow a good answer',
    script: greeting((way) => {
      const [good, pubrel] = [
        Buffer.from([0x20, 0x03, 0x00, 0x00, 0x00]),
        Buffer.from([0x62, 0x02, 0x00, 0x07]),
      ];
      way.toClient(Buffer.concat([good, pubrel, pubrel, Buffer.alloc(8, 0xff)]));
    }),
    words: /does not speak MQTT \(is the port right\?\)/,
  },
  {
    name: 'is a web server',
    script: greeting((way) => way.toClient(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'))),
    words: /does not speak MQTT \(is the port right\?\)/,
  },
  {
    name: 'tears its first answer',
    script: greeting((way) => way.toClient(Buffer.from([0x20, 0x01, 0x00]))),
    words: /it takes connections but does not answer/,
    version: 4,
    isSlow: true,
  },
  { name: 'is unavailable', script: connack(136), words: /Server unavailable/ },
  { name: 'is unavailable with MQTT 3.1.1', script: connack(3), words: /Server unavailable/, version: 4 },
  { name: 'has banned the bridge', script: connack(138), words: /Banned/ },
  { name: 'has no room for it', script: connack(151), words: /Quota exceeded/ },
  { name: 'does not know the user', script: connack(134), words: /wrong user name or password/ },
  {
    name: 'does not know the user with MQTT 3.1.1',
    script: connack(4),
    words: /wrong user name or password/,
    version: 4,
  },
  {
    name: 'does not let the bridge in',
    script: connack(5),
    words: /not authorized: check mqtt\.username and mqtt\.password/,
    version: 4,
  },
  {
    name: 'does not answer a subscription',
    script: { fromBroker: ({ cmd }) => cmd === 'suback' },
    words: /it does not answer a subscription/,
    isSlow: true,
  },
  {
    name: 'refuses all subscriptions',
    script: granting(() => 128),
    words: /refused a subscription: \S+, \S+ and \d+ more: Unspecified error/,
  },
  {
    name: 'refuses one subscription',
    script: granting((code, index) => (index === 0 ? 135 : Number(code))),
    words: /refused a subscription: sonic2mqtt\/\S+: Not authorized/,
  },
];

/** What became of a bridge whose broker greeted it so. */
interface Outcome {
  /** While the broker did so. */
  readonly warnings: readonly string[];
  readonly log: string;
  readonly ending: Ending;
}

/** Greets a new bridge so until it comes for the third time, then well; and once more so, to stop it in that state. */
async function play(
  house: House,
  index: number,
  { name, script, version = 5, isSlow }: Row,
): Promise<Outcome> {
  const broker = await startScriptedBroker(house.broker.url);
  broker.play(script);
  const own = { base_topic: `sonic2mqtt/${index}`, client_id: `bridge-${index}`, protocol_version: version };
  const bridge = startProgram(['run'], {
    config: {
      ...house.config,
      mqtt: { url: broker.url, ...own },
      homeassistant: { enabled: false },
      schedules: {},
      data_dir: temporaryFolder(),
    },
  });
  await waitFor(() => broker.visits >= (isSlow ? 2 : 3), {
    what: `another attempt where it ${name}`,
    timeoutMs: 60_000,
  });
  const warnings = warningsOf(bridge);
  broker.play();
  for (const way of broker.ways) way.hangUp();
  const { sonics } = house.simulator.world;
  const isShown = () => sonics.ids.every((id) => house.watcher.last.has(`sonic2mqtt/${index}/sonic/${id}`));
  await waitFor(isShown, { what: `all to be shown where it ${name}`, timeoutMs: 60_000 });
  const { visits } = broker;
  broker.play(script);
  for (const way of broker.ways) way.hangUp();
  await waitFor(() => broker.visits > visits, { what: 'the next attempt', timeoutMs: 60_000 });
  return { warnings, log: bridge.stderr, ending: await bridge.stop() };
}

describe.skipIf(!mosquittoAvailable())('a broker that', () => {
  const outcomes = new Map<string, Outcome>();
  // Some at a time, since each mostly waits.
  beforeAll(async () => {
    const house = await startQuietHouse();
    const waiting = [...greetings.entries()].toSorted(
      ([, left], [, right]) => Number(!!right.isSlow) - Number(!!left.isSlow),
    );
    const worker = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const [index, row] = next;
        outcomes.set(row.name, await play(house, index, row));
      }
    };
    await Promise.all([worker(), worker(), worker(), worker(), worker()]);
  }, 240_000);

  const rows = greetings.map(({ name, words }) => [name, words] as const);
  it.each(rows)('%s is told in words, once, and tried until it works', (name, words) => {
    const { warnings = [], log, ending } = outcomes.get(name) ?? {};
    expect(warnings.filter((line) => words.test(line))).toHaveLength(1);
    expect(warnings).toHaveLength(1);
    expect(log).toMatch(/back after/);
    expect({ code: ending?.code, isQuick: (ending?.durationMs ?? 9_000) < 5_000 }).toEqual({
      code: 0,
      isQuick: true,
    });
  });
});

describe('an address', () => {
  it('behind which there is no such broker is told in words, once, and does not keep the bridge from stopping', async () => {
    const elsewhere = certificateFor('elsewhere.example');
    const [plain, secure, curt] = await Promise.all([
      listening(createTcpServer((socket) => void socket.on('error', () => undefined).resume())),
      listening(createTlsServer(elsewhere)),
      listening(createTcpServer((socket) => socket.once('data', () => socket.resetAndDestroy()))),
    ]);
    const cases = [
      { url: 'mqtt://no-such-host.invalid', words: /no such host|the name server does not answer/ },
      { url: `mqtts://localhost:${secure}`, ca_file: elsewhere.file, words: /does not match certificate/ },
      {
        url: `mqtts://127.0.0.1:${secure}`,
        words: /self[- ]signed certificate \(is its authority in mqtt\.ca_file\?\)/,
      },
      {
        url: `mqtt://127.0.0.1:${secure}`,
        words: /does not speak MQTT|the connection was (reset|closed) before any answer \(mqtt or mqtts/,
      },
      // As Mosquitto does where it is spoken to with TLS on its plain port.
      {
        url: `mqtts://127.0.0.1:${curt}`,
        words: /the connection was reset before any answer \(mqtt or mqtts, and is the port right\?\)/,
      },
      {
        url: `mqtts://127.0.0.1:${await listening(createTcpServer((socket) => socket.end('no TLS\r\n')))}`,
        words: /does not speak TLS/,
      },
      { url: `mqtt://127.0.0.1:${plain}`, words: null },
    ];
    await Promise.all(
      cases.map(async ({ words, ...mqtt }) => {
        const bridge = startProgram(['run'], {
          config: {
            cloud: { base_url: 'http://127.0.0.1:9', email: 'a@example.com', password: 'secret' },
            mqtt,
            log: { level: 'debug' },
          },
        });
        const isDebugged = /DEBUG: MQTT broker/;
        // The silent one has nothing to say yet; it must not hold up the stop either.
        if (words) await bridge.waitForOutput(isDebugged, 30_000);
        else await bridge.waitForOutput(/Trying again|cloud/i, 30_000);
        if (words) {
          expect(
            warningsOf(bridge).filter((line) => words.test(line)),
            bridge.stderr,
          ).toHaveLength(1);
          expect(warningsOf(bridge)).toHaveLength(1);
        }
        const { code, durationMs } = await bridge.stop();
        expect({ code, isQuick: durationMs < 5_000 }).toEqual({ code: 0, isQuick: true });
      }),
    );
  }, 60_000);
});

describe.skipIf(!mosquittoAvailable())('a broker that wants a client certificate', () => {
  it('is told as such where there is none, and where it does not take the one there is', async () => {
    const lines = ['require_certificate true', 'use_identity_as_username true'];
    const { url, caFile } = await startMosquitto({ tls: true, lines });
    const stranger = certificateFor('stranger');
    const own = { cert_file: stranger.file, key_file: stranger.keyFile };
    const cases = [
      { words: 'it asks for a client certificate: set mqtt.cert_file and mqtt.key_file' },
      { ...own, words: 'it does not accept the certificate in mqtt.cert_file' },
    ];
    for (const { words, ...files } of cases) {
      const cloud = { base_url: 'http://127.0.0.1:9', email: 'a@example.com', password: 'secret' };
      const check = startProgram(['check'], { config: { cloud, mqtt: { url, ca_file: caFile, ...files } } });
      await check.ended();
      expect(check.stdout).toContain(`FAIL MQTT broker: ${url}: ${words}\n`);
    }
  });
});

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** A certificate for that name that nobody has signed but itself, and its file. */
function certificateFor(name: string): { key: string; cert: string; file: string; keyFile: string } {
  const folder = temporaryFolder();
  const names = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', 'key'];
  execFileSync('openssl', ['req', '-x509', ...key, '-out', 'cert', '-days', '2', ...names], {
    cwd: folder,
    stdio: 'pipe',
  });
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  return { key: read('key'), cert: read('cert'), file: join(folder, 'cert'), keyFile: join(folder, 'key') };
}
