import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mainFile, type Part, startPart } from '../measure/part.ts';

/** Bytes. */
export interface Memory {
  readonly heapUsed: number;
  readonly rss: number;
  readonly external: number;
  readonly arrayBuffers: number;
}

/** What the process holds besides its memory. */
export interface Holdings {
  /** Active resources by kind, as `process.getActiveResourcesInfo()` names them. */
  readonly handles: Readonly<Record<string, number>>;
  /** Open files and sockets; null where the system does not tell. */
  readonly descriptors: number | null;
  /** Live objects: timers, event emitters, abort signals, promises. */
  readonly timers: number;
  readonly emitters: number;
  readonly signals: number;
  readonly promises: number;
  readonly listeners: { readonly process: number; readonly signals: number; readonly sockets: number };
  /** What Node warned of, such as too many listeners. */
  readonly warnings: readonly string[];
}

/** What the probe that is loaded into the bridge answers; see probe.mjs. */
export interface ProbeDeeds {
  memory(): Memory;
  holdings(): Holdings;
  snapshot(file: string): string;
}

/** The bridge as a process, and what its log has said. */
export interface Bridge {
  readonly part: Part<ProbeDeeds>;
  readonly log: BridgeLog;
}

/** Its log so far. */
export interface BridgeLog {
  /** Lines by level. */
  readonly lines: Readonly<Record<string, number>>;
  /** The first of those that tell of a mistake in the bridge itself, and of what is no line of the log. */
  readonly errors: readonly string[];
}

/** So often the lists are read, in ms. */
export const listPeriodMs = 250;

const schedules = {
  incidents: `${listPeriodMs}ms`,
  sonics: `${listPeriodMs}ms`,
  signals: `${listPeriodMs}ms`,
  properties: '5s',
  telemetry: '10s',
  usage: '30s',
  pressure_tests: '30s',
};

const mostErrors = 20;
const mostNewest = 60;

const probeFile = new URL('./probe.mjs', import.meta.url);

/** Starts the built bridge between the cloud and the broker, with the probe in it. */
export function startBridge(account: object, brokerUrl: string, folder: string): Bridge {
  // JSON is YAML.
  const config = {
    cloud: {
      ...account,
      request_timeout: '1500ms',
      max_concurrency: 8,
      max_requests_per_minute: 1_000_000,
    },
    mqtt: { url: brokerUrl },
    schedules,
    // An outage lasts longer.
    stale_after: '2s',
    valve: { confirm_timeout: '3s', confirm_interval: '200ms' },
    log: { format: 'json' },
  };
  writeFileSync(join(folder, 'config.yaml'), JSON.stringify(config));
  const log = new LogReader();
  process.on('exit', (code) => {
    if (code === 1) process.stderr.write(`The bridge's log ends with:\n${log.newest.join('\n')}\n`);
  });
  const part = startPart<ProbeDeeds>('the bridge', mainFile, {
    args: ['run'],
    nodeArgs: ['--expose-gc', '--disable-warning=ExperimentalWarning', '--import', probeFile.href],
    cwd: folder,
    onSaid: (text) => log.take(text),
  });
  return { part, log };
}

class LogReader implements BridgeLog {
  readonly lines: Record<string, number> = {};
  readonly errors: string[] = [];
  /** The last lines, whatever they tell of. */
  readonly newest: string[] = [];
  #rest = '';

  take(text: string): void {
    const parts = (this.#rest + text).split('\n');
    this.#rest = parts.pop() ?? '';
    for (const line of parts) this.#takeLine(line);
  }

  #takeLine(line: string): void {
    this.newest.push(line);
    if (this.newest.length > mostNewest) this.newest.shift();
    const level = levelOf(line);
    this.lines[level] = (this.lines[level] ?? 0) + 1;
    if (level === 'error' && this.errors.length < mostErrors) this.errors.push(line);
  }
}

/** The level of a line; `error` for text that is no line of the log, such as a warning of Node.js. */
function levelOf(line: string): string {
  try {
    return JSON.parse(line).level ?? 'error';
  } catch {
    return 'error';
  }
}
