import { systemClock } from '../base/clock.ts';
import { errorMessage } from '../base/errorMessage.ts';
import { describeUrl } from '../broker/brokerUrl.ts';
import type { Connection } from '../broker/connection.ts';
import { BrokerRefusal, probeBroker } from '../broker/probeBroker.ts';
import { brokerAddresses, type Config } from '../config/schema.ts';
import { bridgeOptions, topicsOf } from '../partOptions.ts';
import type { SetupText } from '../texts/texts.ts';
import { type Check, type CheckResult, ok } from './checks.ts';
import type { Configuration } from './configuration.ts';
import { portProblem } from './ports.ts';

export function brokerChecks(
  { config, log, secrets, findBroker }: Configuration,
  visitor: string,
  signal: AbortSignal,
): Check[] {
  const parts = { clock: systemClock, log, stopping: signal };
  const options = bridgeOptions(config, secrets, systemClock, findBroker);
  const connect = (urls = options.urls): Promise<readonly CheckResult[]> =>
    probeBroker({ ...options, urls }, visitor, parts, (connection) =>
      tryMessages(connection, config, visitor),
    );
  const addresses = brokerAddresses(config);
  const name = 'MQTT broker';
  const textOf = (error: unknown): SetupText =>
    error instanceof BrokerRefusal ? 'result_broker_rejects' : 'result_broker_fails';
  if (addresses.length === 0) {
    const { host, port } = config.mqtt.embedded;
    const run = async () => {
      const problem = await portProblem(host, port);
      if (problem === null) return ok('the built-in broker starts with sonic2mqtt');
      const tried = await connect().catch(() => Promise.reject(new Error(`mqtt.embedded: ${problem}`)));
      return [...ok('the built-in broker is running'), ...tried];
    };
    return [{ name, run, textOf }];
  }
  return addresses.map((url) => ({
    name,
    textOf,
    run: async () => {
      const tried = await connect([url]);
      const broker = findBroker ? 'the broker of Home Assistant' : describeUrl(url);
      return [...ok(`connected to ${broker}`, 'result_broker_works'), ...tried];
    },
  }));
}

/**
 * Tests what the bridge does: publishes at topics like those of its devices, and receives valve commands (`readTest`).
 * None of the messages is retained, and other clients ignore them. Home Assistant ignores this discovery message without
 * a warning.
 */
async function tryMessages(connection: Connection, config: Config, visitor: string): Promise<CheckResult[]> {
  const topics = topicsOf(config);
  const failed = (words: string): CheckResult => ({ outcome: 'FAIL', words, text: 'result_broker_rejects' });
  const refused = connection.refusedSubscriptions;
  const found = refused === null ? [] : [failed(`the broker rejects a subscription: ${refused}`)];
  const messages = [
    { topic: topics.below('sonic', 'check', 'availability'), payload: '' },
    { topic: topics.discovery('sonic', 'check'), payload: JSON.stringify({ migrate_discovery: true }) },
  ];
  for (const { topic, payload } of messages) {
    await connection.publish(topic, payload, { retain: false }).catch((error) => {
      found.push(failed(`the broker rejects messages, for example ${topic}: ${errorMessage(error)}`));
    });
  }
  if (found.length > 0) return found;
  const result = await connection.readTest();
  if (result === 'passed')
    return [...ok('published a message and received it'), ...running(connection, config, visitor)];
  // The bridge works without the right to publish at its command topics.
  if (result === 'unknown')
    return [{ outcome: 'WARN', words: 'the test message could not be published', text: 'result_note' }];
  return [failed(`the broker does not send ${connection.unreadTopic} back. Check its access list`)];
}

/** Says whether a bridge is online at the base topic. Somebody who sets up another one must choose another topic. */
function running(
  { storedState }: Connection,
  { mqtt: { base_topic: base } }: Config,
  visitor: string,
): readonly CheckResult[] {
  if (storedState !== 'online') return [];
  if (visitor !== 'setup') return ok(`sonic2mqtt is online at the base topic ${base}`);
  const words = `A sonic2mqtt is already online at the base topic ${base}. Stop it, or give this one another base topic`;
  return [{ outcome: 'WARN', words, text: 'result_note' }];
}
