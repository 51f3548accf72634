import type { Random } from '../../src/base/backoff.ts';
import { createLog } from '../../src/base/log.ts';
import { Secrets } from '../../src/base/secrets.ts';
import type { Connect } from '../../src/broker/clientOptions.ts';
import { configSchema } from '../../src/config/schema.ts';
import { secretsOf } from '../../src/config/secrets.ts';
import { Daemon } from '../../src/daemon.ts';
import { demoCredentials, type Simulator } from '../../src/simulator/simulator.ts';
import type { VirtualBroker } from './virtualBroker.ts';
import { type CloudTap, type Strike, VirtualCloud } from './virtualCloud.ts';
import type { VirtualDisk } from './virtualDisk.ts';
import { Machine, ProcessClock, type VirtualTime } from './virtualTime.ts';

/** Everything that surrounds the bridge: the cloud, the broker, the network, the disk and the time. */
export interface BridgeEnvironment {
  readonly time: VirtualTime;
  readonly random: Random;
  /** The wall clock at the start of the simulation, in ms since 1970. */
  readonly epochMs: number;
  readonly simulator: Simulator;
  readonly broker: VirtualBroker;
  readonly disk: VirtualDisk;
  /** Decides for each request whether it fails, and how. */
  readonly strike: Strike;
  readonly tap: CloudTap;
  /** Called when a run of the bridge begins, and when it has ended. */
  readonly onStart?: () => void;
  readonly onEnd?: () => void;
  readonly logged: (line: string) => void;
  readonly config: Readonly<Record<string, object>>;
  /** How the bridge connects to the broker. By default with a client in memory. */
  readonly dialFrom?: (clock: ProcessClock) => Connect;
}

interface Run {
  readonly daemon: Daemon;
  readonly clock: ProcessClock;
  readonly cloud: VirtualCloud;
}

/**
 * The longest time that the bridge may take to stop, in ms. After that the process exits, even if the disk is
 * still writing.
 */
const stopLimitMs = 5_000;

/**
 * The configuration of the bridge from the given sections, with the addresses and the account of the
 * simulation.
 */
export function bridgeConfig(sections: BridgeEnvironment['config']) {
  return {
    ...sections,
    cloud: { base_url: 'http://cloud.example.com', ...demoCredentials, ...sections['cloud'] },
    mqtt: { url: 'mqtt://broker.example.com', ...sections['mqtt'] },
    data_dir: '/data',
  };
}

/** The whole bridge, running in this process. Tests can start, stop and kill it, and start it again. */
export class BridgeProcess {
  readonly #environment: BridgeEnvironment;
  #run: Run | null = null;
  /** The error of the machine's wall clock, in ms. */
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

  /** How many timers the process waits for, and how many requests are in flight: now, and at most so far. */
  get load(): { readonly timers: number; readonly requests: number; readonly mostRequests: number } {
    const { clock, cloud } = this.#run ?? {};
    return {
      timers: clock?.waiting ?? 0,
      requests: cloud?.inFlight ?? 0,
      mostRequests: cloud?.mostInFlight ?? 0,
    };
  }

  /** Resolves once this run has published its devices. */
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

  /** Kills the process at once, as a power failure does. */
  kill(): void {
    this.#run?.clock.die();
    if (this.#run) this.#environment.onEnd?.();
    this.#run = null;
  }

  /**
   * Asks the bridge to stop, as SIGTERM does. Calls back with the time that this took, in ms, or with null if
   * it took too long.
   */
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
