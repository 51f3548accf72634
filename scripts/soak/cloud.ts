// This is the simulated cloud in a process of its own. Its only argument is its size and seed as JSON.
import type { OperationName } from '../../src/cloud/operations.ts';
import { parseFault } from '../../src/simulator/faults.ts';
import { between, pick, seededRandom } from '../../src/simulator/random.ts';
import { demoCredentials, Simulator } from '../../src/simulator/simulator.ts';
import { serveParent } from '../measure/serveParent.mjs';

export interface CloudSize {
  readonly sonics: number;
  readonly seed: number;
}

/** What the cloud would show now. */
export interface Truth {
  /** The states of the valves by sonic. */
  readonly valves: Readonly<Record<string, string | null>>;
  /** The ids of open incidents. */
  readonly incidents: readonly string[];
  readonly properties: readonly string[];
}

const sonicsPerSignal = 4;
const signalsPerProperty = 12;
/** The real cloud has ten on a page. Then HTTP would take most of the time, and not the bridge. */
const pageSize = 250;
const countEveryMs = 100;
const dayMs = 24 * 60 * 60 * 1_000;

const { sonics, seed }: CloudSize = JSON.parse(process.argv[2] ?? '');
const wifiSonics = Math.ceil(sonics / 100);
const signals = Math.ceil((sonics - wifiSonics) / sonicsPerSignal);
const random = seededRandom(seed);
const simulator = new Simulator({
  seed,
  properties: Math.ceil(signals / signalsPerProperty),
  signals,
  sonics: sonics - wifiSonics,
  wifiSonics,
  pageSize,
  valveTravelMs: 300,
  pressureTestMs: 500,
});
const { world } = simulator;
const anySonic = () => pick(random, world.sonics.ids) ?? '';

/** Good answers by operation. Of a list, only the first page counts. */
const read: Partial<Record<OperationName, number>> = {};
/** This takes back the changes, the newest first. */
let undo: (() => void)[] = [];

/** The log of the simulated cloud keeps only the newest requests. */
function count(): void {
  for (const { operation, status, path } of simulator.requests.entries) {
    const isGood = status !== null && status < 400 && !/[?&]page=(?!1(&|$))/.test(path);
    if (operation !== null && isGood) read[operation] = (read[operation] ?? 0) + 1;
  }
  simulator.requests.clear();
}

/** Each of these happens to a sonic, and returns what takes it back. */
const changes: readonly ((id: string) => () => void)[] = [
  (id) => {
    world.setValve(id, 'closed');
    return () => world.setValve(id, 'open');
  },
  (sonicId) => {
    const { id } = world.openIncident({ type: 'water_presence_detected', sonicId });
    return () => world.closeIncident(id);
  },
  (sonicId) => {
    const { id } = world.openIncident({ type: 'meteor_strike', sonicId });
    return () => world.closeIncident(id);
  },
  (id) => {
    world.dropRadio(id);
    return () => world.connectRadio(id);
  },
  (id) => {
    const signalId = world.sonics.get(id)?.signal_id ?? world.signals.ids[0] ?? '';
    world.dropCloud(signalId);
    return () => world.connectCloud(signalId);
  },
  (id) => {
    const { battery = null, name = null } = world.things.get(id) ?? {};
    world.changeSonic(id, { battery: pick(random, ['low', 'mid', 'high']) ?? null });
    world.changeSonic(id, { name: `Tap ${between(random, 1, 1_000_000)}` });
    return () => void world.changeSonic(id, { battery, name });
  },
  (id) => {
    const date = new Date(world.now - 2 * dayMs).toISOString().slice(0, 10);
    world.correctUsage(id, date, between(random, 1, 500));
    return () => {};
  },
];

const functions = {
  async start() {
    await simulator.start();
    setInterval(count, countEveryMs);
    return { base_url: simulator.url, ...demoCredentials };
  },
  read() {
    count();
    return read;
  },
  truth(): Truth {
    const states = world.thingIds.map((id) => [id, world.things.get(id)?.valve_state ?? null]);
    const open = [...world.incidents.values()].filter((incident) => incident.open);
    const incidents = open.map(({ id }) => id);
    return { valves: Object.fromEntries(states), incidents, properties: world.properties.ids };
  },
  /** Replaces all faults, each written as for `simulate --fault`. */
  setFaults(texts: readonly string[]) {
    const faults = texts.map((text) => {
      const parsed = parseFault(text);
      if ('problem' in parsed) throw new Error(parsed.problem);
      return parsed.fault;
    });
    simulator.setFaults(faults);
  },
  expireTokens: () => simulator.expireTokens(),
  change(perKind: number) {
    for (const change of changes) {
      for (let times = 0; times < perKind; times++) undo.push(change(anySonic()));
    }
  },
  /** Removes sonics from the lists, as when a hub moves. */
  hide(howMany: number) {
    for (let times = 0; times < howMany; times++) {
      const sonic = world.sonics.get(anySonic());
      if (!sonic) continue;
      world.sonics.delete(sonic.id);
      undo.push(() => world.sonics.set(sonic.id, sonic));
    }
  },
  /** Removes a sonic permanently and adds a new one in its place. */
  replaceOne() {
    const sonic = world.sonics.get(anySonic());
    if (!sonic?.signal_id) return;
    world.removeSonic(sonic.id);
    world.addSonic(sonic.signal_id);
  },
  /** Takes back all changes. */
  restore() {
    for (const each of undo.reverse()) each();
    undo = [];
  },
};

export type CloudFunctions = typeof functions;

serveParent(functions);
