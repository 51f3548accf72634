import { hash } from 'node:crypto';
// The options of the parts that both the bridge and the command line use, made from the configuration.
import type { Clock } from './base/clock.ts';
import type { Log } from './base/log.ts';
import type { Secrets } from './base/secrets.ts';
import type { BrokerFinder, BrokerOptions } from './broker/clientOptions.ts';
import type { CloudClientOptions } from './cloud/client.ts';
import { rereadFiles } from './config/rereadFiles.ts';
import type { Config } from './config/schema.ts';
import { brokerAddresses } from './config/schema.ts';
import { secretIn } from './config/secrets.ts';
import { commandFilters } from './homeassistant/command.ts';
import { Topics } from './homeassistant/topics.ts';

export function topicsOf(config: Config): Topics {
  return new Topics(config.mqtt.base_topic, config.homeassistant.discovery_prefix);
}

export function cloudOptions(
  config: Config,
  log: Log,
  secrets: Secrets,
  clock: Clock,
): Omit<CloudClientOptions, 'memory'> {
  const { cloud } = config;
  const password = rereadPassword(cloud, secrets, clock);
  return {
    baseUrl: cloud.base_url,
    email: cloud.email,
    password: async () => (await password()) ?? '',
    requestTimeoutMs: cloud.request_timeout,
    maxConcurrency: cloud.max_concurrency,
    maxRequestsPerMinute: cloud.max_requests_per_minute,
    routes: cloud.routes,
    clock,
    log,
    secrets,
  };
}

/** The password of a section, with the current content of its file. Throws if the file cannot be read at first. */
export function rereadPassword(
  section: Readonly<Record<'password' | 'password_file', string | null>>,
  secrets: Secrets,
  clock: Clock,
  readFiles = rereadFiles([section.password_file], clock),
): () => Promise<string | undefined> {
  return async () => {
    const { password: given, password_file: file } = section;
    const bytes = file === null ? undefined : (await readFiles()).get(file);
    const password = file !== null && bytes ? secretIn(file, bytes) : (given ?? undefined);
    secrets.add(password);
    return password;
  };
}

/**
 * Made from the base topic, so that the broker lets only one bridge use it. With MQTT 3.1.1, a broker may refuse other
 * characters than letters and digits, and more than 23 of them.
 */
function clientIdOf({ mqtt }: Config): string {
  const { base_topic: base, client_id: id } = mqtt;
  if (id !== null) return id;
  return base === 'sonic2mqtt' ? base : `sonic2mqtt${hash('sha1', base).slice(0, 13)}`;
}

/** The options for the broker, from the configuration. If no address is configured, it is the embedded broker. */
export function brokerOptions(
  config: Config,
  secrets: Secrets,
  clock: Clock,
  find?: BrokerFinder,
): Omit<BrokerOptions, 'will' | 'subscriptions'> {
  const { mqtt } = config;
  const { embedded } = mqtt;
  const addresses = brokerAddresses(config);
  const isOwn = addresses.length === 0;
  const section = isOwn ? embedded : mqtt;
  const { ca_file, cert_file, key_file } = mqtt;
  const readFiles = rereadFiles([section.password_file, ca_file, cert_file, key_file], clock);
  return {
    find,
    urls: isOwn ? [`mqtt://${reachable(embedded.host)}:${embedded.port}`] : addresses,
    clientId: clientIdOf(config),
    protocolVersion: isOwn || mqtt.protocol_version === 4 ? 4 : 5,
    keepaliveS: Math.round(mqtt.keepalive / 1_000),
    // A message can be this old without being noticed. Most of a command's time must be left for the cloud.
    pingEveryMs: config.cloud.request_timeout / 4,
    username: section.username ?? undefined,
    password: rereadPassword(section, secrets, clock, readFiles),
    tls: async () => {
      const contents = await readFiles();
      const key = contents.get(key_file)?.toString('utf8');
      secrets.add(key?.trim());
      return {
        ca: contents.get(ca_file)?.toString('utf8'),
        cert: contents.get(cert_file)?.toString('utf8'),
        key,
        rejectUnauthorized: mqtt.reject_unauthorized,
      };
    },
  };
}

/** The same options, with the last will and the subscriptions that the bridge itself needs. */
export function bridgeOptions(
  config: Config,
  secrets: Secrets,
  clock: Clock,
  find?: BrokerFinder,
): BrokerOptions {
  const topics = topicsOf(config);
  const state = topics.bridge('state');
  return {
    ...brokerOptions(config, secrets, clock, find),
    baseTopic: topics.base,
    will: { topic: state, payload: 'offline' },
    overheard: [topics.discoveryFilter],
    subscriptions: [...commandFilters(topics), topics.requestFilter],
    testTopic: topics.below('sonic', 'check', 'valve/set'),
    statusTopics: [config.homeassistant.status_topic],
  };
}

/** The address to connect to if the broker listens on all addresses. */
export function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
