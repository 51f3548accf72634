import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { demoCredentials } from '../../src/simulator/simulator.ts';
import { startBridge } from '../support/bridge.ts';
import { runProgram } from '../support/callProgram.ts';
import {
  documentedCommands,
  hasNamespaces,
  type Installation,
  startInstallation,
} from '../support/installation.ts';
import { watchTopics } from '../support/mqttWatcher.ts';

const unit = '/etc/systemd/system/sonic2mqtt.service';
const config = '/etc/sonic2mqtt/config.yaml';

/** A machine with systemd, on which the program is installed for all users, a cloud and a broker. */
async function startMachine() {
  const cloud = { properties: 1, signals: 1, sonics: 1 };
  const bridge = await startBridge({ isStarted: false, cloud });
  const env = { SONIC2MQTT_CLOUD__BASE_URL: bridge.cloud.url };
  const machine = startInstallation({ hasSystemd: true, env, isBuilt: true });
  chmodSync(`${machine.checkout}/dist/main.js`, 0o755);
  symlinkSync(`${machine.checkout}/dist/main.js`, machine.place('local/bin/sonic2mqtt'));
  // As `systemctl edit` does: the cloud of the service is a simulated one too.
  mkdirSync(machine.place(`${unit}.d`));
  writeFileSync(
    machine.place(`${unit}.d/override.conf`),
    `[Service]\nEnvironment=SONIC2MQTT_CLOUD__BASE_URL=${bridge.cloud.url}\n`,
  );
  const { email, password } = demoCredentials;
  const answers = [email, password, bridge.broker.url, ''];
  const [sonicId = ''] = bridge.cloud.world.sonics.ids;
  return { ...bridge, broker: bridge.broker, mqtt: bridge.mqtt, machine, answers, sonicId };
}

/** What a command came to. */
async function run(machine: Installation, command: string, answers: readonly string[] = []) {
  const running = machine.start(command, answers);
  const { code } = await running.ended();
  return { code, stdout: running.stdout, stderr: running.stderr };
}

describe.runIf(hasNamespaces)('sonic2mqtt setup --service', { timeout: 60_000 }, () => {
  it('leads from nothing to a running bridge, renews it without questions, and its page leads back', async () => {
    const { machine, answers, broker, mqtt, sonicId } = await startMachine();
    const made = await run(machine, 'sonic2mqtt setup --service', answers);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toMatch(
      /INFO: Found properties: 1.*\n(.*\n)*\nThe service runs, and starts with this computer/,
    );
    expect(made.stdout).not.toContain('WARN');
    expect(machine.asked('systemctl')).toEqual([
      ['show', '--property=Version'],
      ['daemon-reload'],
      ['enable', '--quiet', 'sonic2mqtt'],
      ['restart', 'sonic2mqtt'],
    ]);
    const [own, written] = [
      readFileSync('systemd/sonic2mqtt.service', 'utf8'),
      readFileSync(machine.place(unit), 'utf8'),
    ];
    const programs = `${machine.place('local/bin/node')} ${machine.checkout}/dist/main.js`;
    expect(written).toBe(own.replace('/usr/bin/env sonic2mqtt run', `${programs} run`));
    expect(statSync(machine.place(config)).mode & 0o777).toBe(0o600);
    const topic = `sonic2mqtt/sonic/${sonicId}`;
    await mqtt.waitForTopic(topic, (text) => JSON.parse(text).valve === 'open');
    await mqtt.publish(`${topic}/valve/set`, 'CLOSE');
    await mqtt.waitForTopic(topic, (text) => JSON.parse(text).valve === 'closed');

    const from = mqtt.messages.length;
    const again = await run(machine, 'sonic2mqtt setup --service');
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining(`Using ${config}`) });
    await mqtt.waitForMessage(({ topic }) => topic === 'sonic2mqtt/bridge/state', {
      what: 'the restart',
      from,
    });

    const back = documentedCommands('docs/uninstall.md', 'Raspberry Pi or Linux').replace(/^.*npm .*$/m, '');
    const removed = await run(machine, back);
    expect(removed).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/Deleted \d\d+ retained messages\n/),
      stderr: '',
    });
    const stored = await watchTopics(broker.url, '#');
    await stored.settle();
    expect(stored.messages).toEqual([]);
    expect(machine.asked('systemctl').slice(-2)).toEqual([
      ['disable', '--now', 'sonic2mqtt'],
      ['daemon-reload'],
    ]);
    expect([unit, '/etc/sonic2mqtt'].filter((each) => existsSync(machine.place(each)))).toEqual([]);
    expect(readdirSync(machine.place('/var/lib'), { recursive: true })).toEqual(['private']);
  });

  it('fails with the log if the service does not start', async () => {
    const { machine } = await startMachine();
    mkdirSync(machine.place('/etc/sonic2mqtt'));
    writeFileSync(machine.place(config), 'cloud:\n  emial: me@example.com\n');
    const made = await run(machine, 'sonic2mqtt setup --service');
    expect(made).toMatchObject({ code: 1, stderr: expect.stringContaining('The service did not start') });
    expect(made.stdout).toContain('cloud.emial');
  });

  it('changes no unit that somebody else has written', async () => {
    const { machine } = await startMachine();
    writeFileSync(machine.place(unit), '[Service]\nExecStart=/opt/mine\n');
    expect(await run(machine, 'sonic2mqtt setup --service')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('is not from sonic2mqtt'),
    });
    expect(readFileSync(machine.place(unit), 'utf8')).toContain('/opt/mine');
  });

  it.each([
    ['Node.js', '/home/me/bin/node "$(readlink -f "$(command -v sonic2mqtt)")"'],
    ['sonic2mqtt', 'node /home/me/dist/main.js'],
  ])('refuses %s in the folder of one user', async (name, command) => {
    const { machine } = await startMachine();
    const home = machine.place('home');
    const prepared = [
      `mkdir -p '${home}/me/bin' && cp -r dist package.json '${home}/me' && touch '${home}/me/bin/node'`,
      `mount --bind '${process.execPath}' '${home}/me/bin/node' && mount --rbind '${home}' /home`,
    ].join('\n');
    const refused = await run(machine, `${prepared}\n${command} setup --service`);
    const stderr = new RegExp(`^${name} is in /home/me/\\w+, .* Install ${name} for all users`);
    expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(stderr) });
  });
});

describe('without what a service needs', () => {
  const machine = startInstallation({ isBuilt: true });
  const given = { version: '252', uid: 0, options: [] as string[] };

  it.each([
    ['systemd', { version: '' }, 'This computer does not run systemd'],
    ['a systemd that is new enough', { version: '249' }, 'systemd 249 is too old'],
    ['the rights of root', { uid: 1000 }, 'Only root can change services. Run: sudo sonic2mqtt'],
    ['a place of its own', { options: ['--config', 'mine.yaml'] }, 'The service always uses /etc'],
  ])('%s, it changes nothing, and says so', async (_what, change, words) => {
    const { version, uid, options } = { ...given, ...change };
    vi.stubEnv('PATH', `${machine.place('bin')}:${process.env['PATH']}`);
    vi.stubEnv('MACHINE', machine.folder);
    vi.stubEnv('MACHINE_SYSTEMD', version);
    vi.spyOn(process, 'getuid').mockReturnValue(uid);
    onTestFinished(() => {
      vi.unstubAllEnvs();
      vi.restoreAllMocks();
    });
    const { code, stdout, stderr } = await runProgram([...options, 'setup', '--service']);
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining(words) });
  });
});
