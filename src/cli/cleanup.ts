import { systemClock } from '../base/clock.ts';
import type { Connection } from '../broker/connection.ts';
import { Retained } from '../broker/retained.ts';
import { visitBroker } from '../broker/visit.ts';
import { brokerOptions, topicsOf } from '../daemon.ts';
import { componentsOfDiscovery } from '../homeassistant/topics.ts';
import { type CommandContext, exitStatus } from './command.ts';
import { setUp } from './setup.ts';

/** Slow brokers need a moment before they start to send what they keep. */
const patience = { quietMs: 1_000, longestMs: 60_000 };

/** `sonic2mqtt cleanup`: deletes every retained message of this bridge from the broker. */
export async function cleanup(context: CommandContext): Promise<number> {
  const { config, log, secrets } = setUp(context, { level: 'warn' });
  const topics = topicsOf(config);
  const isState = (topic: string) => topic.startsWith(`${topics.base}/`);

  const deleteAll = async (connection: Connection): Promise<number> => {
    const retained = new Retained(connection, log);
    const found: string[] = [];
    const filters = [`${topics.base}/#`, topics.discoveryFilter];
    await connection.readRetained(filters, patience, ({ topic, payload, isRetained }) => {
      if (!isRetained || payload === '') return;
      if (!isState(topic) && componentsOfDiscovery(topics, payload) === null) return;
      if (topic === topics.bridge('state') && payload === 'online') {
        log.warn('The bridge seems to be running: stop it first, or it publishes again when it reconnects');
      }
      found.push(topic);
      retained.found(topic);
    });
    // Devices first: Home Assistant removes them before their states go.
    const devicesFirst = found.toSorted((left, right) => Number(isState(left)) - Number(isState(right)));
    for (const topic of devicesFirst) await retained.clear(topic);
    await retained.settle();
    const left = retained.unknownTopics().length;
    context.print(`Deleted ${found.length - left} retained messages`);
    if (left > 0) log.error(`${left} could not be deleted`);
    return left === 0 ? exitStatus.done : exitStatus.failed;
  };

  const parts = { clock: systemClock, log, signal: context.signal };
  return visitBroker(brokerOptions(config, secrets), 'cleanup', parts, deleteAll);
}
