import type { Simulator } from '../../src/simulator/simulator.ts';
import { type BridgeOptions, merge, type Sections, startBridge, type TestBroker } from './bridge.ts';
import type { MqttWatcher } from './mqttWatcher.ts';
import { type RunningProgram, startProgram } from './program.ts';

export { fault, hourly, quick, type TestBroker } from './bridge.ts';

/** A bridge by the names that some tests still use: see `startBridge`. */
export interface House {
  readonly simulator: Simulator;
  readonly broker: TestBroker;
  readonly watcher: MqttWatcher;
  readonly config: object;
  readonly bridge: RunningProgram;
  startBridge(changes?: Readonly<Record<string, object | string>>): RunningProgram;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into documents of many shapes
  json(path: string): any;
  events(name?: string): Record<string, unknown>[];
  close(): Promise<void>;
}

/** Starts a bridge without waiting for it to be shown. More of them may run beside it, each until its test ends. */
export async function startHouse(options: BridgeOptions = {}): Promise<House> {
  const bridge = await startBridge({ ...options, isStarted: false });
  let latest: RunningProgram | null = null;
  const start = (changes: Sections = {}) => {
    latest = startProgram(['run'], { config: merge(bridge.config, changes) });
    return latest;
  };
  if (options.isStarted !== false) start();
  return {
    simulator: bridge.cloud,
    broker: bridge.broker,
    watcher: bridge.mqtt,
    config: bridge.config,
    get bridge() {
      if (latest === null) throw new Error('the bridge was not started');
      return latest;
    },
    startBridge: start,
    json: (path) => bridge.json(path),
    events: (name) => bridge.events(name),
    close: async () => {
      await latest?.stop();
      await bridge.close();
    },
  };
}
