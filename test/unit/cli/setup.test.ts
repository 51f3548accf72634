import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runProgram } from '../../../src/cli/program.ts';
import { startBridge } from '../../support/bridge.ts';
import { freePort } from '../../support/ports.ts';
import { temporaryFolder } from '../../support/program.ts';
import { waitFor } from '../../support/waitFor.ts';

const bridge = await startBridge({ isStarted: false });
const { email, password, base_url: cloudUrl } = Object(bridge.config['cloud']);
const { url: broker } = Object(bridge.config['mqtt']);

let stopping = new AbortController();
afterEach(() => {
  stopping.abort();
  stopping = new AbortController();
});

/** Runs `sonic2mqtt setup` in a new folder of this process. */
function startSetup(...words: string[]) {
  const cwd = temporaryFolder();
  const out: string[] = [];
  const err: string[] = [];
  const status = runProgram(['setup', ...words], {
    env: { SONIC2MQTT_CLOUD__BASE_URL: cloudUrl },
    cwd,
    print: (line) => out.push(line),
    complain: (line) => err.push(line),
    signal: stopping.signal,
  });
  const invited = async () => {
    await waitFor(() => out.length > 0, { what: 'the address and the code' });
    const [, url = '', first = '', last = ''] =
      /^Open (http:\S+) .*enter the code (\d{3}) (\d{3})\. Press Ctrl\+C to stop\.$/.exec(out[0] ?? '') ?? [];
    return { url, code: first + last };
  };
  return { cwd, out, err, status, invited };
}

async function send(url: string, sent: object) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/setup`, { method: 'POST', headers, body: JSON.stringify(sent) });
  return Object(await response.json());
}

describe('setup', () => {
  it('says an address that opens, and its code, and ends when the file is written', async () => {
    const port = await freePort();
    const { cwd, out, err, status, invited } = startSetup('--listen', `0.0.0.0:${port}`);
    const { url, code } = await invited();
    expect(url).toBe(`http://localhost:${port}`);
    const page = await (await fetch(url)).text();
    expect(page).toContain('sudo systemctl enable --now sonic2mqtt');
    expect(page).toContain('docker restart sonic2mqtt');
    expect(page).toContain('Home Assistant app');
    const typed = { email, password, broker, brokerUsername: '', brokerPassword: '', keepPage: true, code };
    expect(await send(url, typed)).toMatchObject({ isSaved: true, isStarting: false, hasPage: false });
    expect(await status).toBe(0);
    const file = join(cwd, 'config.yaml');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(parse(readFileSync(file, 'utf8'))).toEqual({
      cloud: { email, password },
      mqtt: { url: broker },
      http: { listen: `0.0.0.0:${port}` },
    });
    expect([out.at(-1), err]).toEqual([expect.stringContaining(`Saved ${file}`), []]);
    await expect(fetch(url)).rejects.toThrow();
  });

  it('opens in each kind of address', async () => {
    for (const host of ['127.0.0.1', '[::1]', '[::]']) {
      const { status, invited } = startSetup('--listen', `${host}:${await freePort()}`);
      const { url } = await invited();
      expect((await fetch(url)).status, host).toBe(200);
      stopping.abort();
      expect(await status).toBe(1);
      stopping = new AbortController();
    }
  });

  it('ends with Ctrl+C, and has written nothing', async () => {
    const { err, status, invited } = startSetup('--listen', `127.0.0.1:${await freePort()}`);
    await invited();
    stopping.abort();
    expect(await status).toBe(1);
    expect(err).toEqual(['Setup was stopped. Nothing was saved.']);
  });

  it('replaces no file, and says which words it needs for an address', async () => {
    const { err, status } = startSetup('--listen', '8099');
    expect([await status, err[0]]).toEqual([2, expect.stringContaining('sonic2mqtt: --listen must be')]);
    const file = join(temporaryFolder(), 'mine.yaml');
    writeFileSync(file, '# my own');
    const other = startSetup('--config', file);
    expect([await other.status, other.err]).toEqual([2, [expect.stringContaining('exists already')]]);
  });
});
