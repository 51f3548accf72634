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

/** Root without its powers, to whom the modes of files apply as to anybody else. */
const powerless = ['setpriv', '--bounding-set=-all', '--inh-caps=-all'];

/** Why nothing can be forbidden to the bridge here; null where it can. */
export function cannotForbid(): string | null {
  if (!isRoot) return null;
  try {
    execFileSync(powerless[0] ?? '', [...powerless.slice(1), 'true'], { stdio: 'pipe' });
    return null;
  } catch (error) {
    return `root cannot give up its powers here: ${String(error)}`;
  }
}

/** Makes a file or folder one that the bridge may not touch: of another user, or where only root can do that, of no mode. */
export function takeAway(path: string): void {
  if (isRoot) chownSync(path, 65_534, 65_534);
  chmodSync(path, isRoot ? 0o600 : 0o000);
}

/** Gives it back. */
export function giveBack(path: string, mode: number): void {
  if (isRoot) chownSync(path, 0, 0);
  chmodSync(path, mode);
}

/** A bridge with one valve whose data directory suffers. */
export interface DiskBridge {
  readonly bridge: TestBridge;
  readonly sonicId: string;
  /** Starts a bridge with this data directory; the command before it, if any, starts it in its turn. */
  start(dataDir: string, before?: readonly string[]): RunningProcess;
  /** Opens an incident in the cloud; resolves with its id once it is announced. */
  announceNew(): Promise<string>;
  /** How often the opening of an incident was announced. */
  announcements(incidentId: string): number;
  /** Waits until `bridge/health` gives a reason that matches, or with null until all is well. */
  untilHealth(reason: RegExp | null): Promise<void>;
  /** Waits for a sum of water that is known, published after so many messages. */
  untilTotal(from?: number): Promise<number>;
  /** The sums that were shown after so many messages, in order, if they were known. */
  totals(from?: number): number[];
}

/** Builds it; the bridge is started by the test. */
export async function startDiskBridge(): Promise<DiskBridge> {
  const bridge = await startBridge({
    cloud: { properties: 1, signals: 1, sonics: 1 },
    config: {
      schedules: { ...quick, incidents: '100ms', usage: '200ms', pressure_tests: '1h' },
      // Nothing waits for Home Assistant to set up its entities.
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
      ({ topic, text }) => topic === `sonic2mqtt/sonic/${sonicId}/incident` && JSON.parse(text).id === id,
    ).length;
  const totals = (from = 0): number[] =>
    messages
      .slice(from)
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
        ...(isRoot ? powerless : []),
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
    untilTotal: async (from = 0) => {
      const known = await waitFor(() => (totals(from).length > 0 ? totals(from) : null), {
        what: 'the sum of water',
      });
      return known.at(-1) ?? 0;
    },
    totals,
  };
}

/** The state file, read by a test. */
export function readStateFile(dataDir: string): {
  announced: string[];
  usage: Record<string, object>;
  session: object | null;
} {
  return JSON.parse(readFileSync(join(dataDir, 'state.json'), 'utf8'));
}
