import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atTestEnd, type RunningProcess, startProcess } from './childProcess.ts';
import { temporaryFolder } from './program.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
/** The files of a checkout that an installation needs. */
const checkedOut = [
  ...['package.json', 'package-lock.json', 'scripts', 'src', 'dist', 'systemd', 'config.example.yaml'],
  ...['CHANGELOG.md', 'README.md', 'LICENSE', 'compose.yaml', 'docker', 'Dockerfile'],
];

/** The shell commands that a page gives below a heading, in order. */
export function documentedCommands(page: string, heading: string): string {
  const [, section = ''] = readFileSync(join(project, page), 'utf8').split(`\n## ${heading}\n`);
  const [commands = ''] = section.split('\n## ');
  const steps = [...commands.matchAll(/^( *)```sh\n(.*?)^ *```$/gms)].map(([, indent = '', step = '']) =>
    step.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
  if (steps.length === 0) throw new Error(`${page} has no commands below ${heading}`);
  return steps.join('');
}

/**
 * A machine simulated in a folder: with its own /etc and /var, its own programs, and a checkout of the
 * project.
 */
export interface Installation {
  readonly folder: string;
  readonly checkout: string;
  readonly env: NodeJS.ProcessEnv;
  /** The real path of a file of the machine, for example of `/etc/x`. */
  place(path: string): string;
  /** Runs the shell commands in the checkout to their end. Returns their output. */
  run(commands: string): Promise<string>;
  /** Starts the shell commands. */
  start(commands: string): RunningProcess;
  /** The calls of programs that are only simulated: the arguments of each call. */
  asked(program: string): string[][];
}

/**
 * Creates a machine, with the inputs of a user that the documentation leaves open. It has no network but the
 * loopback.
 */
export function startInstallation(user: {
  /** The text that the user types in an editor, into a new file. */
  readonly typed?: string;
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the machine has systemd, and this user is root there. */
  readonly hasSystemd?: boolean;
}): Installation {
  const folder = temporaryFolder();
  chmodSync(folder, 0o755);
  const checkout = join(folder, 'checkout');
  for (const each of checkedOut) cpSync(join(project, each), join(checkout, each), { recursive: true });
  symlinkSync(join(project, 'node_modules'), join(checkout, 'node_modules'));
  // The folder that `git clone` would create.
  symlinkSync('.', join(checkout, 'sonic2mqtt'));
  for (const each of ['bin', 'local/bin', 'etc/systemd/system', 'var/lib', 'run', 'npm', 'asked']) {
    mkdirSync(join(folder, each), { recursive: true });
  }
  writeFileSync(join(folder, 'typed'), `${user.typed}\n`);
  const npm = execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim();
  const programs: Record<string, string> = {
    // The dependencies are installed already. A release is a file that the test has packed.
    npm: `[ "$1" = ci ] && exit
      for word; do shift; set -- "$@" "$(echo "$word" | sed 's|^https://.*/releases/latest/download/|${folder}/release/|')"; done
      exec '${npm}' "$@"`,
    sudo: 'exec env "$@"',
    curl: `cp "${folder}/release/$(basename "$2")" .`,
    nano: `cp '${folder}/typed' "$1"`,
  };
  for (const each of ['journalctl', 'docker', 'git', 'apt-get']) {
    programs[each] =
      `for word; do printf '%s\\t' "$word"; done >>'${folder}/asked/${each}'; echo >>'${folder}/asked/${each}'`;
  }
  cpSync(join(project, 'test/support/fakeSystemctl.mjs'), join(folder, 'fakeSystemctl.mjs'));
  programs['systemctl'] = `exec node '${folder}/fakeSystemctl.mjs' "$@"`;
  programs['journalctl'] += `\ncase "$*" in *follow*) exec tail -n +1 -F '${folder}/run/journal' ;; esac`;
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
    ...(user.hasSystemd && systemdOf(folder)),
    ...user.env,
  };
  const place = (path: string) => join(folder, path);
  const start = (commands: string) => {
    const [shell = '', ...words] = [...(user.hasSystemd ? inside(folder) : []), 'sh', '-euc', commands];
    return startProcess(shell, words, { cwd: checkout, env });
  };
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

const isRoot = process.getuid?.() === 0;
const unshare = ['unshare', isRoot ? '-m' : '-rm'];

/** Whether a test on this machine can have its own /etc and /var, and be root there. */
export const hasNamespaces = spawnSync(unshare.join(' '), ['true'], { shell: true }).status === 0;

/** The environment for `fakeSystemctl.mjs`. Ends its service with the test. */
function systemdOf(folder: string): Record<string, string> {
  atTestEnd(() => {
    const pidFile = join(folder, 'run/sonic2mqtt.pid');
    // The service may have ended already.
    if (existsSync(pidFile)) spawnSync('kill', ['-9', readFileSync(pidFile, 'utf8')]);
  });
  writeFileSync(join(folder, 'run/journal'), '');
  for (const each of readdirSync('/etc')) {
    if (!['systemd', 'sonic2mqtt'].includes(each))
      symlinkSync(`${folder}/host/${each}`, join(folder, 'etc', each));
  }
  mkdirSync(join(folder, 'host'));
  writeFileSync(join(folder, 'local/bin/node'), '');
  return { MACHINE: folder, MACHINE_SYSTEMD: '252', ...(isRoot && { MACHINE_UID: '61184' }) };
}

/**
 * The command prefix that runs a command with the /etc and /var/lib of the machine, and with Node.js for all
 * users.
 */
function inside(folder: string): string[] {
  const mounts = [...['/etc host', 'etc /etc', 'var/lib /var/lib', `${process.execPath} local/bin/node`]].map(
    (each) => `mount --rbind ${each}`,
  );
  return [...unshare, 'sh', '-euc', `cd '${folder}'; ${mounts.join('; ')}; cd "$OLDPWD"; exec "$@"`, 'sh'];
}

/** Copies a folder, and changes the text of its files. */
export function copyWith(from: string, to: string, changed: (text: string) => string): void {
  cpSync(from, to, { recursive: true });
  for (const file of execFileSync('find', [to, '-type', 'f'], { encoding: 'utf8' }).trim().split('\n')) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, changed(readFileSync(file, 'utf8')));
  }
}
