import type { Random } from '../../src/base/backoff.ts';
import { createLog } from '../../src/base/log.ts';
import { Secrets } from '../../src/base/secrets.ts';
import type { Connect } from '../../src/broker/connect.ts';
import { configSchema } from '../../src/config/schema.ts';
import { secretsOf } from '../../src/config/secrets.ts';
import { Daemon } from '../../src/daemon.ts';
import { demoCredentials, type Simulator } from '../../src/simulator/simulator.ts';
import type { VirtualBroker } from './virtualBroker.ts';
import { type CloudTap, type Strike, VirtualCloud } from './virtualCloud.ts';
import type { VirtualDisk } from './virtualDisk.ts';
import { Machine, ProcessClock, type VirtualTime } from './virtualTime.ts';

/** What the bridge runs on: its network, its broker, its disk and its time. */
export interface BridgeEnvironment {
  readonly time: VirtualTime;
  readonly random: Random;
  /** Wall-clock ms when the simulation began. */
  readonly epochMs: number;
  readonly simulator: Simulator;
  readonly broker: VirtualBroker;
  readonly disk: VirtualDisk;
  /** What becomes of a request. */
  readonly strike: Strike;
  readonly tap: CloudTap;
  /** Told that a run begins, and that it has ended. */
  readonly onStart?: () => void;
  readonly onEnd?: () => void;
  readonly logged: (line: string) => void;
  /** Sections of the configuration. */
  readonly config: Readonly<Record<string, object>>;
  /** How the broker is reached; by clients in memory, unless given. */
  readonly dialFrom?: (clock: ProcessClock) => Connect;
}

/** One run of the bridge. */
interface Run {
  readonly daemon: Daemon;
  readonly clock: ProcessClock;
  readonly cloud: VirtualCloud;
}

/** How long the bridge may take to stop, in ms. The process exits sooner, whatever the disk is still writing by then. */
const stopLimitMs = 5_000;

/** The configuration of a bridge in a environment, from the sections that are given. */
export function bridgeConfig(sections: BridgeEnvironment['config']) {
  return {
    ...sections,
    cloud: { base_url: 'http://cloud.example.com', ...demoCredentials, ...sections['cloud'] },
    mqtt: { url: 'mqtt://broker.example.com', ...sections['mqtt'] },
    data_dir: '/data',
  };
}

/** The whole bridge in this process, which is started, stopped, killed and started again. */
export class BridgeProcess {
  readonly #environment: BridgeEnvironment;
  #run: Run | null = null;
  /** How wrong the machine's clock is, in ms. */
  wallErrorMs = 0;
  runs = 0;
  readonly machine: Machine;

  constructor(environment: BridgeEnvironment) {
    this.#environment = environment;
    this.machine = new Machine(environment.time);
  }

  get isRunning(): boolean {
    return this.#run !== null;
  }

  /** How many callbacks the process waits for, and how many requests it has, and has had, in flight. */
  get load(): { readonly timers: number; readonly requests: number; readonly mostRequests: number } {
    const { clock, cloud } = this.#run ?? {};
    return {
      timers: clock?.waiting ?? 0,
      requests: cloud?.inFlight ?? 0,
      mostRequests: cloud?.mostInFlight ?? 0,
    };
  }

  /** Resolves once this run has shown its devices. */
  get shown(): Promise<void> {
    return this.#run?.daemon.shown ?? Promise.resolve();
  }

  /** Starts the bridge, as `sonic2mqtt run` does. */
  start(): void {
    const { time, random, epochMs, simulator, broker, disk, strike, tap, logged, config } = this.#environment;
    this.runs += 1;
    this.#environment.onStart?.();
    const cloudNow = () => epochMs + time.now;
    const clock = new ProcessClock(time, () => cloudNow() + this.wallErrorMs, this.machine);
    const cloud = new VirtualCloud(simulator, clock, random, strike, tap, cloudNow);
    const output = {
      write: (line: string) => void (clock.isDead || logged(line.replace(/"time":"[^"]*",/, ''))),
    };
    const parsed = configSchema.parse(bridgeConfig(config));
    const secrets = new Secrets();
    for (const secret of secretsOf(parsed)) secrets.add(secret);
    const log = createLog({ level: parsed.log.level, format: 'json', secrets, output });
    const daemon = new Daemon(parsed, log, secrets, {
      clock,
      random,
      disk: disk.of(clock),
      dispatcher: cloud,
      dial: this.#environment.dialFrom?.(clock) ?? broker.dialFrom(clock),
    });
    this.#run = { daemon, clock, cloud };
    void daemon.start();
  }

  /** Pulls the plug. */
  kill(): void {
    this.#run?.clock.die();
    if (this.#run) this.#environment.onEnd?.();
    this.#run = null;
  }

  /** Asks it to stop, as SIGTERM does; calls back with how long that took, in ms, or null for too long. */
  stop(onStopped: (tookMs: number | null) => void): void {
    const run = this.#run;
    if (!run) return;
    const { time, disk } = this.#environment;
    const began = time.now;
    const end = (tookMs: number | null) => {
      if (run.clock.isDead) return;
      run.clock.die();
      if (this.#run === run) this.#run = null;
      this.#environment.onEnd?.();
      onStopped(tookMs);
    };
    time.after(stopLimitMs, () => end(disk.isWriting ? stopLimitMs : null));
    void run.daemon.stop().then(() => end(time.now - began));
  }
}
