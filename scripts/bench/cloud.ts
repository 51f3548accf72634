// This is the simulated cloud in a process of its own. Its only argument is its options as JSON.
import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { demoCredentials, Simulator } from '../../src/simulator/simulator.ts';
import { serveParent } from '../measure/serveParent.mjs';
import { nowMs } from '../measure/time.ts';

export interface CloudOptions {
  readonly sonics: number;
  /** Whether incidents, links and water use change by themselves. */
  readonly isAlive?: boolean;
  readonly latencyMs?: number;
}

/** A request, and when its head had been read. */
export interface NotedRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly atMs: number;
}

const sonicsPerProperty = 4;

const { sonics, isAlive = false, latencyMs = 0 }: CloudOptions = JSON.parse(process.argv[2] ?? '');
const properties = Math.max(1, Math.ceil(sonics / sonicsPerProperty));
const simulator = new Simulator({
  seed: 1,
  valveTravelMs: 0,
  sonics,
  properties,
  signals: properties,
  quiet: !isAlive,
  faults: latencyMs > 0 ? [{ kind: 'latency', value: latencyMs }] : [],
});

let noted: NotedRequest[] = [];
let open = 0;
let isWaterOn = false;
const awaited = new Set<(request: NotedRequest) => void>();

subscribe('http.server.request.start', (message) => {
  const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
  open += 1;
  const each = { method: request.method ?? '', path: request.url ?? '', atMs: nowMs() };
  noted.push(each);
  for (const hear of awaited) hear(each);
  // This comes after an aborted request too.
  response.once('close', () => {
    open -= 1;
  });
});

const functions = {
  async start() {
    await simulator.start();
    // The world begins with an open incident, which is announced only two seconds after its device.
    for (const { id } of simulator.world.incidents.values()) simulator.world.closeIncident(id);
    return { base_url: simulator.url, ...demoCredentials };
  },
  sonicIds: (): readonly string[] => simulator.world.sonics.ids,
  /** Forgets the requests until now. */
  note() {
    noted = [];
  },
  noted: (): readonly NotedRequest[] => noted,
  /** How many requests are noted, and how many have no answer yet. */
  traffic: () => ({ requests: noted.length, open }),
  /** Changes the signal strength of every sonic. */
  change() {
    const { world } = simulator;
    for (const id of world.sonics.ids) {
      world.changeSonic(id, { radio_rssi: world.sonics.get(id)?.radio_rssi === 150 ? 151 : 150 });
    }
  },
  /** Turns the water of every sonic on, or off. */
  turnWater() {
    isWaterOn = !isWaterOn;
    for (const id of simulator.world.sonics.ids) simulator.world.runWater(id, isWaterOn);
  },
  /** When the next such request comes. */
  nextRequest: (method: string, path: string) =>
    new Promise<number>((resolve) => {
      const hear = (request: NotedRequest) => {
        if (request.method !== method || request.path !== path) return;
        awaited.delete(hear);
        resolve(request.atMs);
      };
      awaited.add(hear);
    }),
};

export type CloudFunctions = typeof functions;

serveParent(functions);
