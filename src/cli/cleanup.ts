import { systemClock } from '../base/clock.ts';
import { errorMessage } from '../base/errorMessage.ts';
import type { Connection } from '../broker/connection.ts';
import { probeBroker } from '../broker/probeBroker.ts';
import { Retained } from '../broker/retained.ts';
import { readDiscovery, type Topics } from '../homeassistant/topics.ts';
import { isShared } from '../model/shard.ts';
import { brokerOptions, topicsOf } from '../partOptions.ts';
import { devicesNamedIn } from '../publishing/retainedScan.ts';
import { readConfiguration } from './configuration.ts';
import { type CommandContext, exitStatus } from './context.ts';

/** Readings in a row that find only what was deleted before. A cluster may need a moment, but no more of them. */
const maxInVain = 2;

/** A retained message that a bridge of this base topic has published. */
interface Kept {
  /** The bridge that made a discovery message or a message about itself; null for devices and incidents. */
  readonly maker: string | null;
  /** The device, or the devices that an incident names. */
  readonly devices: readonly (string | null)[];
}

/**
 * `sonic2mqtt cleanup`: deletes every retained message of this bridge from the broker, and fails unless none is left;
 * where several share an account, what it has made and none of the others has taken over.
 */
export async function cleanup(
  context: CommandContext,
  { force }: { readonly force?: true },
): Promise<number> {
  const { config, log, secrets, findBroker } = await readConfiguration(context, { level: 'warn' });
  const topics = topicsOf(config);
  const isOneOfSeveral = isShared(config.shard);

  const deleteAll = async (connection: Connection): Promise<number> => {
    const [running] = await runningBridges(connection, topics, isOneOfSeveral);
    if (running !== undefined && !force) {
      log.error(
        `${running} is online, so nothing was deleted. Stop sonic2mqtt first. If it has crashed, use cleanup --force`,
      );
      return exitStatus.failed;
    }
    const kept = new Map<string, Kept>();
    const isOwn = (topic: string) => !isOneOfSeveral || isOfBridge(topics.bridgeName, topic, kept, topics);
    const retained = new Retained(connection, log);
    const deleted = new Set<string>();
    // A broker may show only a part at a time, so it reads until it finds nothing, or nothing that can be deleted.
    const deleteUnder = async (filters: readonly string[]): Promise<readonly string[]> => {
      for (let inVain = 0; ; ) {
        const found = new Set<string>();
        await connection.readRetained(filters, ({ topic, payload, isRetained }) => {
          const message = isRetained && payload !== '' ? readKept(topic, payload, topics) : null;
          if (message === null) return;
          kept.set(topic, message);
          found.add(topic);
        });
        const own = [...found].filter(isOwn);
        inVain = own.every((topic) => deleted.has(topic)) ? inVain + 1 : 0;
        if (own.length === 0 || inVain > maxInVain) return own;
        for (const topic of own) {
          await retained.waitForRoom();
          retained.found(topic);
          retained.clear(topic);
          deleted.add(topic);
        }
        await retained.waitForAnswers();
      }
    };
    // Devices first: Home Assistant removes them before their states go.
    const left = [
      ...(await deleteUnder([topics.discoveryFilter])),
      ...(await deleteUnder(stateFilters(topics))),
    ];
    for (const topic of left) deleted.delete(topic);
    const others = [...kept.keys()].filter((topic) => !isOwn(topic));
    const rest = isOneOfSeveral ? [`Messages of other bridges: ${others.length}`] : [];
    context.print([`Deleted ${counted(deleted.size)}`, ...rest].join('. '));
    if (left.length === 0) return exitStatus.done;
    log.error(`${counted(left.length)} could not be deleted. Another client may publish them again`);
    return exitStatus.failed;
  };

  // The error reports why there is no connection, so the connection logs only its own errors.
  const parts = { clock: systemClock, log: log.child({}, { level: 'error' }), signal: context.signal };
  return probeBroker(brokerOptions(config, secrets, findBroker), 'cleanup', parts, deleteAll).catch(
    (error: unknown) => {
      throw new Error(`MQTT broker: ${errorMessage(error)}`);
    },
  );
}

/** The topics of the bridges that run. With several bridges for one account, only this one counts. */
async function runningBridges(
  connection: Connection,
  topics: Topics,
  isOneOfSeveral: boolean,
): Promise<string[]> {
  const running = new Set<string>();
  const filter = topics.ofBridge(isOneOfSeveral ? topics.bridgeName : '+', 'state');
  await connection.readRetained([filter], ({ topic, payload }) => {
    if (payload === 'online' && topics.bridgeNamed(topic) !== null) running.add(topic);
  });
  return [...running];
}

/** All that may be kept, commands too, kind by kind: others may keep thousands below the base topic. */
function stateFilters({ base, bridgeName, bridgeFilters }: Topics): string[] {
  const kinds = ['incident', 'sonic', 'signal', 'property', bridgeName];
  return [...kinds.map((kind) => `${base}/${kind}/#`), ...bridgeFilters];
}

/** Reads a retained message of a bridge; null for others, also of a bridge whose base topic is below this one. */
function readKept(topic: string, payload: string, topics: Topics): Kept | null {
  if (!topic.startsWith(`${topics.base}/`)) {
    const discovery = readDiscovery(topics, payload);
    return discovery && { maker: discovery.maker, devices: [] };
  }
  const maker = topics.bridgeNamed(topic);
  if (maker !== null) return { maker, devices: [] };
  const target = topics.parse(topic);
  if (target === null) return null;
  return { maker, devices: target.kind === 'incident' ? devicesNamedIn(payload) : [target.id] };
}

/** Whether a message is about this bridge, or about a device that this bridge has announced. */
function isOfBridge(bridge: string, topic: string, kept: ReadonlyMap<string, Kept>, topics: Topics): boolean {
  const { maker = null, devices = [] } = kept.get(topic) ?? {};
  if (maker !== null) return maker === bridge;
  // The discovery topic is the same for each kind of device.
  return devices.some((id) => id !== null && kept.get(topics.discovery('sonic', id))?.maker === bridge);
}

function counted(messages: number): string {
  return `${messages.toLocaleString('en-US')} retained ${messages === 1 ? 'message' : 'messages'}`;
}
