import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { startBridge, type TestBridge } from '../support/bridge.ts';
import { atTestEnd, startProcess } from '../support/childProcess.ts';
import { temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

/** Far more lines than a pipe has room for. */
const lines = 3_000;
/** Enough where each of them fails, or is read. */
const fewLines = 300;
const mainFile = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

let bridge: TestBridge;
beforeAll(async () => {
  bridge = await startBridge({ isStarted: false, config: { cloud: { request_timeout: '20s' } } });
});
afterAll(() => bridge.close());

/** The bridge with its standard error at this file. */
async function startLoggingTo(file: string) {
  const cwd = temporaryFolder();
  writeFileSync(
    join(cwd, 'config.yaml'),
    stringify({ ...bridge.config, log: { format: 'json', level: 'debug' }, data_dir: join(cwd, 'data') }),
  );
  const from = bridge.mqtt.messages.length;
  const command = 'exec "$0" "$1" run 2>>"$2"';
  const running = startProcess('sh', ['-c', command, process.execPath, mainFile, file], { cwd });
  await bridge.mqtt.waitForMessage(
    ({ topic, text }) => topic === 'sonic2mqtt/bridge/cloud' && text === 'online',
    { what: 'the bridge', from },
  );
  return running;
}

/** Lets the bridge log a line for each empty message, which nobody reads, and then asks it for what it exists for. */
async function expectService(lines: number): Promise<void> {
  const [sonic = ''] = bridge.cloud.world.sonics.ids;
  const empty = Array.from({ length: lines }, () =>
    bridge.mqtt.publish(`sonic2mqtt/sonic/${sonic}/valve/set`, ''),
  );
  await Promise.all(empty);
  await bridge.polls(3);
  expect(await bridge.command(`sonic/${sonic}/valve/set`, 'CLOSE')).toMatchObject({ status: 'ok' });
}

/** A pipe of that name, and its end to read at. */
function createPipe(flags: number): { readonly name: string; readonly end: number } {
  const name = join(temporaryFolder(), 'log');
  execFileSync('mkfifo', [name]);
  return { name, end: openSync(name, flags | constants.O_NONBLOCK) };
}

it('a log on a full disk stops nothing', async () => {
  const running = await startLoggingTo('/dev/full');
  await expectService(fewLines);
  expect(await running.stop()).toMatchObject({ code: 0 });
});

it('a log whose reader has gone stops nothing', async () => {
  const pipe = createPipe(constants.O_RDONLY);
  const running = await startLoggingTo(pipe.name);
  closeSync(pipe.end);
  await expectService(fewLines);
  expect(await running.stop()).toMatchObject({ code: 0 });
});

it('a log that nobody reads stops nothing, and once it is read again says how many lines it has lost', async () => {
  const pipe = createPipe(constants.O_RDWR);
  atTestEnd(() => closeSync(pipe.end));
  const running = await startLoggingTo(pipe.name);
  for (let times = 0; times < 2; times++) await expectService(lines);
  const log = await readUntil(pipe.end, /Log lines lost: ([\d,]+)/);
  const read = log.split('\n').filter((line) => line.includes('Ignored an empty message')).length;
  const [, figure = ''] = /Log lines lost: ([\d,]+)/.exec(log) ?? [];
  const lost = figure.replaceAll(',', '');
  expect(read).toBeGreaterThan(1_000);
  expect(Number(lost)).toBeGreaterThan(1_000);
  expect(read + Number(lost)).toBeGreaterThanOrEqual(2 * lines);
  await expectService(fewLines);
  const { code, durationMs } = await running.stop();
  expect(code).toBe(0);
  expect(durationMs).toBeLessThan(5_000);
});

async function readUntil(descriptor: number, pattern: RegExp): Promise<string> {
  let text = '';
  const buffer = Buffer.alloc(65_536);
  await waitFor(
    () => {
      try {
        text += buffer.toString('utf8', 0, readSync(descriptor, buffer));
      } catch {
        // There is nothing to read at this moment.
      }
      return pattern.test(text);
    },
    { what: String(pattern), intervalMs: 5 },
  );
  return text;
}
