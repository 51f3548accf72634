// Stands in for `systemctl` on a machine that is simulated in a folder (installation.ts). It starts the service
// as its unit says, and writes the output of the service into the file that `journalctl` shows.
import { execFileSync, spawn } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as passed } from 'node:timers/promises';

const { MACHINE: machine = '', MACHINE_SYSTEMD: version, MACHINE_UID: uid } = process.env;
const place = (path) => join(machine, path);
const words = process.argv.slice(2);
appendFileSync(place('asked/systemctl'), `${words.map((word) => `${word}\t`).join('')}\n`);
const [verb, ...names] = words.filter((word) => !word.startsWith('-'));
const [name = ''] = names;

// The machine has no systemd.
if (!version) fail('System has not been booted with systemd as init system (PID 1). Can’t operate.');
const file = `/etc/systemd/system/${name}.service`;
/** The units as the last `daemon-reload` has read them. */
const loadedFolder = place('run/loaded');
const [pidFile, journal] = [place(`run/${name}.pid`), place('run/journal')];
const pid = () => (existsSync(pidFile) ? Number(readFileSync(pidFile, 'utf8')) : null);
const isRunning = () => {
  try {
    return process.kill(pid() ?? Number.NaN, 0);
  } catch {
    return false;
  }
};

if (verb === 'show') console.log(`Version=${version} (${version}-1)`);
if (verb === 'daemon-reload') load();
if (verb === 'enable' && !existsSync(file)) fail(`Unit file ${name}.service does not exist.`);
if (words.includes('--now') && verb === 'disable') await stop();
if (words.includes('--now') && verb === 'enable') await start();
if (verb === 'restart') {
  await stop();
  await start();
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

/** Reads each unit, with the additions of `systemctl edit`. */
function load() {
  rmSync(loadedFolder, { recursive: true, force: true });
  mkdirSync(loadedFolder);
  for (const each of readdirSync('/etc/systemd/system').filter((unit) => unit.endsWith('.service'))) {
    const path = `/etc/systemd/system/${each}`;
    const parts = existsSync(`${path}.d`) ? readdirSync(`${path}.d`).map((part) => `${path}.d/${part}`) : [];
    const text = [path, ...parts].map((part) => readFileSync(part, 'utf8')).join('\n');
    writeFileSync(join(loadedFolder, each), text);
  }
}

async function stop() {
  if (!isRunning()) return;
  process.kill(pid(), 'SIGTERM');
  while (isRunning()) await passed(20);
}

async function start() {
  const loaded = join(loadedFolder, `${name}.service`);
  if (!existsSync(loaded)) fail(`Failed to restart ${name}.service: Unit ${name}.service not found.`);
  const lines = readFileSync(loaded, 'utf8').split('\n');
  const all = (setting) =>
    lines.filter((line) => line.startsWith(`${setting}=`)).map((line) => line.slice(setting.length + 1));
  const one = (setting) => all(setting)[0] ?? '';
  const credentials = place(`run/credentials/${basename(loaded)}`);
  rmSync(credentials, { recursive: true, force: true });
  mkdirSync(credentials, { recursive: true });
  for (const credential of all('LoadCredential')) {
    const [id = '', path = ''] = credential.split(':');
    writeFileSync(join(credentials, id), readFileSync(path), { mode: 0o400 });
  }
  // DynamicUser: the service runs as a user that the machine does not know. Its folder is reached by a link,
  // into a folder that only root can enter and that systemd mounts for the service.
  const state = `/var/lib/private/${one('StateDirectory')}`;
  const link = `/var/lib/${one('StateDirectory')}`;
  mkdirSync('/var/lib/private', { recursive: true });
  if (!existsSync(state)) mkdirSync(state, { mode: Number.parseInt(one('StateDirectoryMode'), 8) });
  if (!existsSync(link)) symlinkSync(`private/${one('StateDirectory')}`, link);
  const isOther = uid !== undefined && one('DynamicUser') === 'yes';
  if (isOther) execFileSync('chown', ['-R', `${uid}:${uid}`, credentials, state]);
  const ids = isOther ? `setpriv --reuid=${uid} --regid=${uid} --clear-groups --no-new-privs ` : '';
  const given = all('Environment').map((each) => each.replace('%d', credentials).replace('%S', '/var/lib'));
  const env = Object.fromEntries(given.map((each) => each.split(/=(.*)/s).slice(0, 2)));
  const log = openSync(journal, 'a');
  const from = readFileSync(journal, 'utf8').length;
  // The PATH of services has no programs of single users.
  const service = spawn('sh', ['-c', `cd / && umask ${one('UMask')} && exec ${ids}${one('ExecStart')}`], {
    env: { PATH: `${place('local/bin')}:/usr/sbin:/usr/bin:/sbin:/bin`, ...env },
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  writeFileSync(pidFile, String(service.pid));
  service.unref();
  // The service would report its start at this line of the log, or after ten seconds.
  for (let waited = 0; waited < 10_000 && service.exitCode === null; waited += 50) {
    if (/Found properties/.test(readFileSync(journal, 'utf8').slice(from))) break;
    await passed(50);
  }
  if (service.exitCode)
    fail(`Job for ${name}.service failed because the control process exited with error code.`);
}
