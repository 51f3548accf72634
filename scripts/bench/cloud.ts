// The simulated cloud in a process of its own; its size and seed are its only argument, as JSON.
import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { between, seededRandom } from '../../src/simulator/random.ts';
import { demoCredentials, Simulator } from '../../src/simulator/simulator.ts';
import type { Account } from '../measure/account.ts';
import { serveParent } from '../measure/deeds.ts';
import { nowMs } from '../measure/now.ts';

/** How the cloud is to be. */
export interface CloudOptions {
  readonly sonics: number;
  readonly seed: number;
  /** Whether anything happens by itself. */
  readonly isAlive: boolean;
  /** How much later it answers. */
  readonly latencyMs?: number;
}

/** A request, when it came. */
export interface NotedRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** When its head had been read; of the machine's clock. */
  readonly atMs: number;
}

/** What the cloud was asked since it was told to note. */
export interface Traffic {
  readonly requests: number;
  /** Asked and not answered yet. */
  readonly open: number;
  /** When the last request came, or the last answer left; 0 before. */
  readonly lastAtMs: number;
  /** Processor time of the cloud itself, in all. */
  readonly cpuMs: number;
}

const sonicsPerProperty = 4;

const { sonics, seed, isAlive, latencyMs = 0 }: CloudOptions = JSON.parse(process.argv[2] ?? '');
const homes = Math.max(1, Math.ceil(sonics / sonicsPerProperty));
const simulator = new Simulator({
  seed,
  valveTravelMs: 0,
  sonics,
  properties: homes,
  signals: homes,
  quiet: !isAlive,
  faults: latencyMs > 0 ? [{ kind: 'latency', value: latencyMs }] : [],
});
const random = seededRandom(seed + 1);

let started: Promise<void> | undefined;
let noted: NotedRequest[] = [];
let open = 0;
let lastAtMs = 0;
const awaited = new Set<(request: NotedRequest) => void>();

subscribe('http.server.request.start', (message) => {
  const { request } = message as { request: IncomingMessage };
  lastAtMs = nowMs();
  open += 1;
  const each = { method: request.method ?? '', path: request.url ?? '', atMs: lastAtMs };
  noted.push(each);
  for (const hear of awaited) hear(each);
});
subscribe('http.server.response.finish', () => {
  lastAtMs = nowMs();
  open -= 1;
});

/** Resolves to the time of the next request that is wanted. */
function next(isWanted: (request: NotedRequest) => boolean): Promise<number> {
  return new Promise((resolve) => {
    const hear = (request: NotedRequest) => {
      if (!isWanted(request)) return;
      awaited.delete(hear);
      resolve(request.atMs);
    };
    awaited.add(hear);
  });
}

const deeds = {
  /** Where it is; it is started the first time. */
  async start(): Promise<Account> {
    started ??= simulator.start();
    await started;
    // The world begins with an open incident, which is announced on purpose only two seconds after its device.
    for (const { id } of simulator.world.incidents.values()) simulator.world.closeIncident(id);
    return { base_url: simulator.url, ...demoCredentials };
  },
  sonicIds: (): readonly string[] => simulator.world.sonics.ids,
  /** Notes what it is asked from now on. */
  note() {
    noted = [];
  },
  noted: (): readonly NotedRequest[] => noted,
  traffic(): Traffic {
    const { user, system } = process.cpuUsage();
    return { requests: noted.length, open, lastAtMs, cpuMs: (user + system) / 1_000 };
  },
  /** Changes such a share of the sonics; says how many. */
  change(share: number): number {
    const { world } = simulator;
    const count = Math.max(1, Math.round(world.sonics.size * share));
    const step = Math.floor(world.sonics.size / count);
    const first = between(random, 0, step - 1);
    for (let index = 0; index < count; index++) {
      const id = world.sonics.ids[first + index * step] ?? '';
      const strength = world.sonics.get(id)?.radio_rssi ?? 0;
      world.changeSonic(id, { radio_rssi: strength === 150 ? 151 : 150 });
    }
    return count;
  },
  /** When the next request of that method and path comes. */
  nextRequest: (method: string, path: string) =>
    next((request) => request.method === method && request.path === path),
  /** When a reading of that sonic comes that shows its valve in that state. */
  nextReading: (sonicId: string, state: string) =>
    next(({ method, path }) => {
      const isRead = method === 'GET' && path === `/ape/v1/sonics/${sonicId}`;
      return isRead && simulator.world.things.get(sonicId)?.valve_state === state;
    }),
};

export type CloudDeeds = typeof deeds;

serveParent(deeds);
