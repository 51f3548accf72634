import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** How many nodes a cluster has here: the fewest of which one can be missed. */
export const nodeCount = 3;

/** Not among the ports that the system gives to clients. */
const firstPort = 21_840;

/** Three nodes of a real broker on the loopback, in the hands of the program that runs them (README.md). */
export interface Cluster {
  /** Of node 1 and so on. */
  readonly urls: readonly string[];
  /** Ends a node with SIGKILL; nodes count from 1. */
  kill(node: number): Promise<void>;
  /** Starts it again; it may not be ready yet. */
  revive(node: number): Promise<void>;
  /** Stops all nodes and forgets what they have stored. */
  end(): Promise<void>;
}

/** Starts an empty cluster and resolves once all its nodes take connections. */
export async function startCluster(program: string): Promise<Cluster> {
  const tell = async (...words: string[]) => void (await run(program, words, { timeout: 120_000 }));
  await tell('wipe');
  await tell('start', String(nodeCount), String(firstPort));
  return {
    urls: Array.from({ length: nodeCount }, (_, index) => `mqtt://127.0.0.1:${firstPort + index}`),
    kill: (node) => tell('kill', String(node)),
    revive: (node) => tell('node', String(node)),
    end: () => tell('wipe'),
  };
}
