import { demoCredentials, Simulator } from '../../src/simulator/simulator.ts';
import { hourly } from '../support/bridge.ts';
import { type RunningProgram, startProgram, temporaryFolder } from '../support/program.ts';

/** A bridge, and the part of the account that it alone shows. */
export interface Member {
  readonly program: RunningProgram;
  readonly baseTopic: string;
  readonly sonicIds: readonly string[];
}

/** One bridge for an account, or two with different properties, each of which begins at another node of the cluster. */
export interface Fleet {
  readonly simulator: Simulator;
  readonly members: readonly Member[];
}

/** The base topics of one bridge, or of two. */
export type BaseTopics = readonly [string] | readonly [string, string];

/** Starts a bridge for each base topic. If there are two, each has half of the properties. */
export async function startFleet(urls: readonly string[], baseTopics: BaseTopics): Promise<Fleet> {
  const simulator = new Simulator({
    quiet: true,
    valveTravelMs: 300,
    seed: 5,
    properties: 6,
    signals: 6,
    sonics: 12,
  });
  await simulator.start();
  const { world } = simulator;
  const members = baseTopics.map((baseTopic, index): Member => {
    const properties = world.properties.ids.filter((_, each) => each % baseTopics.length === index);
    const program = startProgram(['run'], {
      config: {
        cloud: { base_url: simulator.url, ...demoCredentials, max_requests_per_minute: 100_000 },
        mqtt: {
          url: [...urls.slice(index), ...urls.slice(0, index)],
          base_topic: baseTopic,
          client_id: `bridge-${index}`,
        },
        filters: { properties: baseTopics.length === 1 ? [] : properties },
        schedules: { ...hourly, sonics: '1s', incidents: '5s' },
        valve: { confirm_interval: '100ms' },
        data_dir: temporaryFolder(),
      },
    });
    const isOwn = (id: string) => properties.includes(world.propertyOf(id) ?? '');
    return { program, baseTopic, sonicIds: world.sonics.ids.filter(isOwn) };
  });
  if (members.some(({ sonicIds }) => sonicIds.length === 0)) throw new Error('a bridge has nothing to show');
  return { simulator, members };
}

/** When a bridge was without a node, as it has said, in ms since 1970; the log knows seconds. */
export function absencesOf({ program }: Member): { readonly fromMs: number; readonly toMs: number }[] {
  const absences: { fromMs: number; toMs: number }[] = [];
  let fromMs: number | null = null;
  for (const [, time = '', words = ''] of program.stderr.matchAll(/^\[(.+?)\] \w+: (.+)$/gm)) {
    const atMs = new Date(time).getTime();
    if (words.startsWith('MQTT broker: mqtt:')) fromMs ??= atMs;
    if (!words.startsWith('Connected to the MQTT broker') || fromMs === null) continue;
    absences.push({ fromMs, toMs: atMs + 1_000 });
    fromMs = null;
  }
  return fromMs === null ? absences : [...absences, { fromMs, toMs: Number.POSITIVE_INFINITY }];
}

/** Stops all of it. */
export async function endFleet({ members, simulator }: Fleet): Promise<void> {
  await Promise.all(members.map(({ program }) => program.stop()));
  await simulator.stop();
}

/** The node at which a bridge is, as it has said last; counts from 1. */
export function nodeOf({ program }: Member, urls: readonly string[]): number {
  const lines = [...program.stderr.matchAll(/Connected to the MQTT broker (\S+) /g)];
  return urls.indexOf(lines.at(-1)?.[1] ?? '') + 1;
}
