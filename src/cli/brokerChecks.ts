import { systemClock } from '../base/clock.ts';
import { describeUrl } from '../broker/brokerUrl.ts';
import type { Connection } from '../broker/connection.ts';
import { probeBroker } from '../broker/probeBroker.ts';
import { brokerAddresses } from '../config/schema.ts';
import { brokerOptions } from '../partOptions.ts';
import { type Check, ok } from './checks.ts';
import type { Configuration } from './configuration.ts';
import { portProblem } from './ports.ts';

/** A check of each address of the broker. With `work`, it also does that there. */
export function brokerChecks(
  { config, log, secrets, findBroker }: Configuration,
  visitor: string,
  signal: AbortSignal,
  work?: (connection: Connection) => Promise<void>,
): Check[] {
  const options = brokerOptions(config, secrets, findBroker);
  const connect = (urls = options.urls) =>
    probeBroker({ ...options, urls }, visitor, { clock: systemClock, log, signal }, async (connection) =>
      work?.(connection),
    );
  const addresses = brokerAddresses(config);
  if (addresses.length === 0) {
    const { host, port } = config.mqtt.embedded;
    const run = async () => {
      const problem = await portProblem(host, port);
      if (problem === null && !work) return ok('the built-in broker starts with sonic2mqtt');
      await connect().catch((error) => {
        throw problem === null ? error : new Error(`mqtt.embedded: ${problem}`);
      });
      return ok('the built-in broker is running');
    };
    return [{ name: 'MQTT broker', run }];
  }
  return addresses.map((url) => ({
    name: 'MQTT broker',
    run: async () => {
      await connect([url]);
      return ok(`connected to ${findBroker ? 'the broker of Home Assistant' : describeUrl(url)}`);
    },
  }));
}
