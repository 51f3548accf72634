import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { startBridge } from '../support/bridge.ts';
import { runBuilt, runProgram } from '../support/callProgram.ts';
import { atTestEnd } from '../support/childProcess.ts';
import { freePort } from '../support/ports.ts';
import { temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

const bridge = await startBridge({ isStarted: false });
const { email, password, base_url: cloudUrl } = Object(bridge.config['cloud']);
const brokerUrl: string = Object(bridge.config['mqtt']).url;

/** Answers the questions of `setup` in a new folder. */
async function setUp(answers: readonly string[], cwd = temporaryFolder(), variables = {}) {
  const input = answers.map((answer) => `${answer}\n`).join('');
  const env = { SONIC2MQTT_CLOUD__BASE_URL: cloudUrl, ...variables };
  const run = await runBuilt(['setup'], { cwd, env, input });
  return { ...run, cwd, file: join(cwd, 'config.yaml') };
}

describe('sonic2mqtt setup', () => {
  it('asks until account and broker work, and writes a configuration that check accepts, also if the pipe ends there', async () => {
    const nobody = `localhost:${await freePort()}`;
    const account = [email, 'wrong', 'not an e-mail', '', email, password];
    const { code, stdout, stderr, file, cwd } = await setUp(['', ...account, nobody, '', 'n', brokerUrl, '']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('FAIL sign-in: the cloud rejects the e-mail or the password');
    expect(stdout).toContain('FAIL E-mail: must be an e-mail address');
    // The cloud does not say which of them is wrong.
    expect(stdout).not.toContain('E-mail [');
    expect(stdout).toContain(`FAIL MQTT broker: mqtt://${nobody}: connection refused`);
    expect(stdout).toContain(`Saved ${file}.`);
    expect(stdout).toMatch(/: sonic2mqtt run\n$/);
    expect(parse(readFileSync(file, 'utf8'))).toEqual({
      cloud: { email, password },
      mqtt: { url: brokerUrl },
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const checked = await runProgram(['check'], { cwd, env: { SONIC2MQTT_CLOUD__BASE_URL: cloudUrl } });
    expect(checked).toMatchObject({ code: 0, stdout: expect.not.stringContaining('FAIL') });
  });

  it('takes a broker that is away if that is wanted, and the options of the page', async () => {
    const nobody = `mqtt://localhost:${await freePort()}`;
    const options = ['it', 'FR', '', 'y'];
    const given = [email, password, 'http://x', '', nobody, 'home', '#: "', 'y', ...options];
    const { code, stdout, file } = await setUp(given, undefined, { LANG: 'de_DE.UTF-8' });
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /FAIL MQTT broker: Die Verbindung zum Broker wird abgelehnt\. .*connection refused/,
    );
    expect(stdout).toContain('FAIL Broker: must be a URL that begins with mqtt://');
    expect(stdout).toContain('To end it, change valves: false to valves: true there');
    expect(parse(readFileSync(file, 'utf8'))).toEqual({
      cloud: { email, password },
      mqtt: { url: nobody, username: 'home', password: '#: "' },
      homeassistant: { language: 'fr' },
      control: { valves: false },
      http: { listen: '127.0.0.1:8099' },
    });
  });

  it('writes nothing if it is stopped', async () => {
    const { code, stderr, file } = await setUp([email, password]);
    expect([code, stderr]).toEqual([1, 'Setup was stopped. Nothing was saved.\n']);
    expect(existsSync(file)).toBe(false);
  });

  it.runIf(process.platform === 'linux')('stops at Ctrl+C even if the cloud does not answer', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    atTestEnd(() => silent.closeAllConnections());
    const { port } = Object(silent.address());
    const env = { ...process.env, SONIC2MQTT_CLOUD__BASE_URL: `http://127.0.0.1:${port}` };
    // Only a terminal has a Ctrl+C: script(1) is one.
    const command = `'${process.execPath}' '${resolve('dist/main.js')}' setup`;
    const terminal = spawn('script', ['-qec', command, '/dev/null'], { cwd: temporaryFolder(), env });
    atTestEnd(() => terminal.kill('SIGKILL'));
    let said = '';
    terminal.stdout.on('data', (text) => {
      said += text;
    });
    for (const [shown, typed] of [
      ['E-mail', `${email}\r`],
      ['Password', 'not to be shown\r'],
      ['cloud: HTTP', '\x03'],
    ] as const) {
      await waitFor(() => said.includes(shown), { what: shown });
      terminal.stdin.write(typed);
    }
    const [code] = await once(terminal, 'exit');
    expect([code, said]).toEqual([1, expect.stringMatching(/\nSetup was stopped\. Nothing was saved\.\s+$/)]);
    expect(said).not.toContain('not to be shown');
  });

  // Root may write everywhere.
  it.skipIf(process.getuid?.() === 0)('says before the first question that it cannot write', async () => {
    const cwd = temporaryFolder();
    chmodSync(cwd, 0o555);
    const { code, stdout, stderr, file } = await setUp([], cwd);
    expect([code, stdout, stderr]).toEqual([
      1,
      '',
      `${file} cannot be written (EACCES: permission denied).\n`,
    ]);
  });

  it('leaves a configuration alone that is there', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'config.yaml'), 'mine');
    const { code, stderr } = await runProgram(['setup'], { cwd });
    const file = join(cwd, 'config.yaml');
    expect([code, stderr]).toEqual([
      2,
      `${file} exists already. Edit it, or move it away and start setup again.\n`,
    ]);
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });
});
