import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { atTestEnd } from '../support/childProcess.ts';
import { watchTopics } from '../support/mqttWatcher.ts';
import { freePort } from '../support/ports.ts';
import { temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

/** The demo at a terminal, which script(1) is, and then the state of that terminal. */
async function startAtTerminal() {
  const port = await freePort();
  const program = `'${process.execPath}' '${resolve('dist/main.js')}' demo --port ${port} --http-port 0`;
  const command = `${program}; echo "status $?"; stty -a`;
  const terminal = spawn('script', ['-qec', command, '/dev/null'], { cwd: temporaryFolder() });
  atTestEnd(() => terminal.kill('SIGKILL'));
  let said = '';
  terminal.stdout.on('data', (text) => {
    said += text;
  });
  const until = (words: string) => waitFor(() => said.includes(words), { what: words });
  await until('q quit');
  return { port, terminal, until, said: () => said };
}

const url = (port: number) => `mqtt://127.0.0.1:${port}`;

it.runIf(process.platform === 'linux')(
  'shows a leak that ends with the closed valve, by keys that publish what anybody could',
  { timeout: 60_000 },
  async () => {
    const { port, terminal, until, said } = await startAtTerminal();
    const mqtt = await watchTopics(url(port), 'sonic2mqtt/#');
    const type = (key: string) => terminal.stdin.write(key);
    type('l');
    await until('Kitchen: ALERT: Leak');
    type('l');
    await until('The kitchen leaks already');
    type('c');
    await until('Kitchen: no alert');
    const [, topic = ''] = /Sent CLOSE to (\S+)/.exec(said()) ?? [];
    await mqtt.waitForTopic(topic, (text) => text === 'CLOSE');
    type('z');
    await until('The demo has no key "z". Press one of c, o, l, x, q');
    type('o');
    await until('Kitchen: opening');
    type('x');
    await until('Cloud: offline');
    type('x');
    await until('Cloud: online');
    type('q');
    await once(terminal, 'exit');
    expect(said()).toMatch(/Demo stopped\. To see your own valves, run sonic2mqtt setup\s+status 0/);
    expect(said()).toMatch(/ icanon/);
    expect(said()).toMatch(/Keys: .*mosquitto_pub/s);
    const own = said()
      .split(/\r?\n/)
      .filter((line) => /^\d\d:|^Keys|^Sent/.test(line));
    expect(Math.max(...own.map(({ length }) => length))).toBeLessThan(125);
  },
);

it.runIf(process.platform === 'linux')('gives the terminal back at Ctrl+C', async () => {
  const { terminal, said } = await startAtTerminal();
  terminal.stdin.write('\x03');
  await once(terminal, 'exit');
  expect(said()).toMatch(/Demo stopped\. To see your own valves, run sonic2mqtt setup\s+status 0/);
  expect(said()).toMatch(/ icanon/);
});
