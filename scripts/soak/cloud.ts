// The simulated cloud in a process of its own; its size and seed are its only argument, as JSON.
import { type Fault, parseFault } from '../../src/simulator/faults.ts';
import { seededRandom } from '../../src/simulator/random.ts';
import { demoCredentials, Simulator } from '../../src/simulator/simulator.ts';
import { serveParent } from '../measure/serveParent.mjs';
import { Tallier } from './tally.ts';
import { changeWorld, hideSonics, replaceSonic } from './worldChanges.ts';

/** How large the cloud is. */
export interface CloudSize {
  readonly sonics: number;
  readonly seed: number;
}

/** What the cloud would show if it were asked now. */
export interface Truth {
  /** State of the valve by sonic. */
  readonly valves: Readonly<Record<string, string | null>>;
  /** Ids of those that are open. */
  readonly incidents: readonly string[];
  readonly properties: readonly string[];
}

const sonicsPerSignal = 4;
const signalsPerProperty = 12;
/** The real one has ten on a page, which would make most of the time one of HTTP, and not of the bridge. */
const pageSize = 250;
const countEveryMs = 100;

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
const tallier = new Tallier(sonics);
let restore: (() => void)[] = [];

/** Its log keeps the newest requests only. */
function count(): void {
  for (const request of simulator.requests.entries) tallier.add(request);
  simulator.requests.clear();
}

function faultOf(text: string): Fault {
  const read = parseFault(text);
  if ('problem' in read) throw new Error(read.problem);
  return read.fault;
}

const deeds = {
  async start() {
    await simulator.start();
    setInterval(count, countEveryMs);
    return { base_url: simulator.url, ...demoCredentials };
  },
  tally() {
    count();
    return tallier.tally();
  },
  truth(): Truth {
    const { world } = simulator;
    const states = world.thingIds.map((id) => [id, world.things.get(id)?.valve_state ?? null]);
    const open = [...world.incidents.values()].filter((incident) => incident.open);
    return {
      valves: Object.fromEntries(states),
      incidents: open.map(({ id }) => id),
      properties: world.properties.ids,
    };
  },
  /** Replaces all faults, each written as for `simulate --fault`. */
  setFaults(texts: readonly string[]) {
    simulator.setFaults(texts.map(faultOf));
  },
  expireTokens() {
    simulator.expireTokens();
  },
  change(perKind: number) {
    restore.push(changeWorld(simulator.world, random, perKind));
  },
  hide(howMany: number) {
    restore.push(hideSonics(simulator.world, random, howMany));
  },
  replaceOne() {
    replaceSonic(simulator.world, random);
  },
  /** Takes back all that can be. */
  restore() {
    for (const each of restore) each();
    restore = [];
  },
};

export type CloudDeeds = typeof deeds;

serveParent(deeds);
