import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atTestEnd, type RunningProcess, startProcess } from './childProcess.ts';
import { temporaryFolder } from './program.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
/** What the ways of installing take out of a checkout. */
const checkedOut = [
  ...['package.json', 'package-lock.json', 'scripts', 'src', 'dist', 'systemd', 'config.example.yaml'],
  ...['CHANGELOG.md', 'README.md', 'LICENSE', 'compose.yaml', 'docker', 'Dockerfile'],
];

/** The commands that a page gives below a heading, step after step. */
export function documentedCommands(page: string, heading: string): string {
  const [, section = ''] = readFileSync(join(project, page), 'utf8').split(`\n## ${heading}\n`);
  const [commands = ''] = section.split('\n## ');
  const steps = [...commands.matchAll(/^( *)```sh\n(.*?)^ *```$/gms)].map(([, indent = '', step = '']) =>
    step.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
  if (steps.length === 0) throw new Error(`${page} has no commands below ${heading}`);
  return steps.join('');
}

/** A machine in a folder: its own /etc and /var, its own programs, and a checkout of the project. */
export interface Installation {
  readonly folder: string;
  readonly checkout: string;
  readonly env: NodeJS.ProcessEnv;
  /** Where something of the machine is: `/etc/x` is in its folder. */
  place(path: string): string;
  /** Does what the commands say, to the last, in the checkout; gives what they have said. */
  run(commands: string): Promise<string>;
  /** Starts what the commands say. */
  start(commands: string): RunningProcess;
  /** What it was asked of programs that it has not really: the words of each call. */
  asked(program: string): string[][];
}

/** A machine whose user answers what the documentation leaves open. It has no network but the loopback. */
export function startInstallation(user: {
  /** What is written in an editor, into a new file. */
  readonly typed?: string;
  /** The answers to `setup`. */
  readonly answers?: readonly string[];
  /** What the environment says besides. */
  readonly env?: Readonly<Record<string, string>>;
}): Installation {
  const folder = temporaryFolder();
  chmodSync(folder, 0o755);
  const checkout = join(folder, 'checkout');
  for (const each of checkedOut) cpSync(join(project, each), join(checkout, each), { recursive: true });
  symlinkSync(join(project, 'node_modules'), join(checkout, 'node_modules'));
  // What `git clone` would make is there already.
  symlinkSync('.', join(checkout, 'sonic2mqtt'));
  for (const each of ['bin', 'local', 'etc/systemd/system', 'var/lib', 'run', 'npm', 'asked']) {
    mkdirSync(join(folder, each), { recursive: true });
  }
  writeFileSync(join(folder, 'typed'), `${user.typed}\n`);
  const npm = execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim();
  const programs: Record<string, string> = {
    // What the project is built with is there.
    npm: `[ "$1" = ci ] || exec '${npm}' "$@"`,
    sudo: 'exec "$@"',
    nano: `cp '${folder}/typed' "$1"`,
  };
  for (const each of ['systemctl', 'journalctl', 'docker', 'git', 'apt-get']) {
    programs[each] =
      `for word; do printf '%s\\t' "$word"; done >>'${folder}/asked/${each}'; echo >>'${folder}/asked/${each}'`;
  }
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|SONIC2MQTT_|NODE_PATH)/i.test(name),
  );
  const env = {
    ...Object.fromEntries(inherited),
    PATH: [join(folder, 'bin'), join(folder, 'local/bin'), process.env['PATH'], '/usr/sbin'].join(delimiter),
    npm_config_prefix: join(folder, 'local'),
    npm_config_cache: join(folder, 'npm'),
    npm_config_registry: 'http://127.0.0.1:9',
    npm_config_offline: 'true',
    npm_config_ignore_scripts: 'true',
    npm_config_yes: 'true',
    npm_config_update_notifier: 'false',
    npm_config_loglevel: 'error',
    ...user.env,
  };
  const input = user.answers?.map((answer) => `${answer}\n`).join('');
  const place = (path: string) => join(folder, path);
  const here = (commands: string) => commands.replace(/(?<=\s)\/(?=etc\/)/g, `${folder}/`);
  const start = (commands: string) =>
    startProcess('sh', ['-euc', here(commands)], { cwd: checkout, env, input });
  return {
    folder,
    checkout,
    env,
    place,
    run: async (commands) => {
      const running = start(commands);
      const { code } = await running.ended();
      if (code !== 0) throw new Error(`exit status ${code}\n${running.output}`);
      return running.stdout;
    },
    start,
    asked: (program) => {
      const file = join(folder, 'asked', program);
      const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
      return lines.map((line) => line.split('\t').slice(0, -1));
    },
  };
}

/** The settings of a systemd unit, by their names; those that may stand there often, in their order. */
function readUnit(file: string): (name: string) => string[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return (name) =>
    lines.filter((line) => line.startsWith(`${name}=`)).map((line) => line.slice(name.length + 1));
}

/** Starts a service of the machine as systemd would: what its unit says of files, environment, user and program. */
export function startUnit(
  { env, place }: Installation,
  name: string,
): RunningProcess & { stateFolder: string } {
  const unit = readUnit(place(`/etc/systemd/system/${name}.service`));
  const one = (setting: string) => unit(setting)[0] ?? '';
  const [credentials, state] = [place(`/run/credentials/${name}.service`), place('/var/lib')];
  mkdirSync(credentials, { recursive: true });
  const stateFolder = join(state, one('StateDirectory'));
  mkdirSync(stateFolder, { mode: Number.parseInt(one('StateDirectoryMode'), 8) });
  for (const credential of unit('LoadCredential')) {
    const [id = '', path = ''] = credential.split(':');
    writeFileSync(join(credentials, id), readFileSync(place(path)), { mode: 0o400 });
  }
  // DynamicUser: nobody whom the machine knows.
  const isRoot = process.getuid?.() === 0;
  const becomes = isRoot && one('DynamicUser') === 'yes';
  const user = 61_184;
  if (becomes) execFileSync('chown', ['-R', `${user}:${user}`, credentials, stateFolder]);
  const { PATH = '' } = env;
  const given = unit('Environment').map((each) => each.replace('%d', credentials).replace('%S', state));
  const ids = becomes ? `setpriv --reuid=${user} --regid=${user} --clear-groups --no-new-privs ` : '';
  const command = `cd / && umask ${one('UMask')} && exec ${ids}${one('ExecStart')}`;
  const surroundings = Object.fromEntries(given.map((each) => each.split(/=(.*)/s).slice(0, 2)));
  const running = startProcess('sh', ['-c', command], { env: { PATH, ...surroundings } });
  atTestEnd(() => running.stop('SIGKILL'));
  return Object.assign(running, { stateFolder });
}

/** Copies a folder with other words in place of some in its files. */
export function copyWith(from: string, to: string, changed: (text: string) => string): void {
  cpSync(from, to, { recursive: true });
  for (const file of execFileSync('find', [to, '-type', 'f'], { encoding: 'utf8' }).trim().split('\n')) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, changed(readFileSync(file, 'utf8')));
  }
}
