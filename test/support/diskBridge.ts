import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { quick, startBridge, type TestBridge } from './bridge.ts';
import { type RunningProcess, startProcess } from './childProcess.ts';
import { temporaryFolder } from './program.ts';
import { waitFor } from './waitFor.ts';

const mainFile = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

const isRoot = process.getuid?.() === 0;

/** Runs a command as root without privileges, so that file modes apply to it. */
const withoutPrivileges = ['setpriv', '--bounding-set=-all', '--inh-caps=-all'];

/** Why the bridge cannot be denied access to files on this machine. Null if it can. */
export function whyAccessCannotBeDenied(): string | null {
  if (!isRoot) return null;
  try {
    execFileSync(withoutPrivileges[0] ?? '', [...withoutPrivileges.slice(1), 'true'], { stdio: 'pipe' });
    return null;
  } catch (error) {
    return `root cannot give up its powers here: ${String(error)}`;
  }
}

/**
 * Denies the bridge access to a file or folder. As root it gives the file to another user, otherwise it
 * removes all permissions.
 */
export function denyAccess(path: string): void {
  if (isRoot) chownSync(path, 65_534, 65_534);
  chmodSync(path, isRoot ? 0o600 : 0o000);
}

/** A bridge with one valve, for tests of its data directory. */
export interface DiskBridge {
  readonly bridge: TestBridge;
  readonly sonicId: string;
  /** Starts a bridge with this data directory, as an argument of the command `before` if given. */
  start(dataDir: string, before?: readonly string[]): RunningProcess;
  /** Opens an incident in the cloud. Resolves with its ID once it is announced. */
  announceNew(): Promise<string>;
  /** How often the incident was announced. */
  announcements(incidentId: string): number;
  /** Waits until the reason in `bridge/health` matches, or for null until health is ok. */
  untilHealth(reason: RegExp | null): Promise<void>;
  /** The known totals of water that were published, in order. */
  totals(): number[];
}

/** Starts the cloud and the broker. The test starts the bridge. */
export async function startDiskBridge(): Promise<DiskBridge> {
  const bridge = await startBridge({
    cloud: { properties: 1, signals: 1, sonics: 1 },
    config: {
      schedules: { ...quick, incidents: '100ms', usage: '200ms', pressure_tests: '1h' },
      // Without Home Assistant the bridge does not wait for it.
      homeassistant: { enabled: false },
    },
    isStarted: false,
  });
  const { world } = bridge.cloud;
  const [sonicId = ''] = world.sonics.ids;
  const { messages } = bridge.mqtt;
  const usageTopic = `sonic2mqtt/sonic/${sonicId}/usage`;
  const announcements = (id: string) =>
    messages.filter(
      ({ topic, text }) =>
        topic === 'sonic2mqtt/bridge/event' &&
        JSON.parse(text).event === 'incident_opened' &&
        JSON.parse(text).id === id,
    ).length;
  const totals = (): number[] =>
    messages
      .filter(({ topic, text, retain }) => topic === usageTopic && text !== '' && !retain)
      .map(({ text }) => JSON.parse(text).total)
      .filter((total) => total !== null);
  return {
    bridge,
    sonicId,
    start(dataDir, before = []) {
      const cwd = temporaryFolder();
      writeFileSync(join(cwd, 'config.yaml'), stringify({ ...bridge.config, data_dir: dataDir }));
      const [command = '', ...args] = [
        ...before,
        ...(isRoot ? withoutPrivileges : []),
        process.execPath,
        mainFile,
        'run',
      ];
      return startProcess(command, args, { cwd, env: { ...process.env, NO_COLOR: '1' } });
    },
    async announceNew() {
      const { id } = world.openIncident({ type: 'high_humidity', sonicId });
      await waitFor(() => announcements(id) > 0, { what: `the announcement of ${id}` });
      return id;
    },
    announcements,
    async untilHealth(reason) {
      await bridge.mqtt.waitForTopic('sonic2mqtt/bridge/health', (text) => {
        const health = JSON.parse(text);
        return reason === null ? health.status === 'ok' : reason.test(health.reason);
      });
    },
    totals,
  };
}

/** The content of the state file. */
export function readStateFile(dataDir: string): {
  announced: string[];
  usage: Record<string, object>;
  session: object | null;
} {
  return JSON.parse(readFileSync(join(dataDir, 'sonic2mqtt.json'), 'utf8'));
}
