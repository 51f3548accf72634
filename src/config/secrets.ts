import { formatDuration } from '../base/duration.ts';
import { shortestHiddenAnywhere } from '../base/secrets.ts';
import { readBytes, readTextFile } from './file.ts';
import { brokerAddresses, type Config, optionRows, secretPaths } from './schema.ts';
import { type Tree, valueAt, withValueAt } from './tree.ts';

type SecretSection<Key extends string> = Readonly<Record<Key | `${Key}_file`, string | null>>;

/**
 * A secret of a section such as `config.cloud`: from the configuration, or from its file as it is now; undefined if neither is
 * given. Throws a message for people if the file is unreadable or empty.
 */
export function readSecret<Key extends string>(section: SecretSection<Key>, key: Key): string | undefined {
  const file = section[`${key}_file`];
  if (file === null) return section[key] ?? undefined;
  const secret = readTextFile(file).replace(/[\r\n]+$/, '');
  if (secret === '') throw new Error(`the file ${file} is empty`);
  return secret;
}

/** Everything secret in the configuration and in the files that it names, as far as they can be read at this moment. */
export function secretsOf(config: Config): string[] {
  const inUrls = brokerAddresses(config).flatMap((address) => secretsInUrl(new URL(address)));
  const { key_file } = config.mqtt;
  const readers = [
    ...secretPaths.map((path) => () => readSecretAt(config, path.split('.'))),
    ...(key_file === null ? [] : [() => readBytes(key_file).toString('utf8').trim()]),
  ];
  return [...inUrls, ...readers.map(readIfPossible)].filter((secret) => secret !== undefined);
}

/** The options that hold a secret too short to be hidden wherever it turns up. */
export function shortSecrets(config: Config): string[] {
  const isInUrl = brokerAddresses(config).some((address) =>
    isTooShort(decodeURIComponent(new URL(address).password)),
  );
  const short = secretPaths.filter((path) =>
    isTooShort(readIfPossible(() => readSecretAt(config, path.split('.'))) ?? ''),
  );
  return isInUrl ? [...short, 'mqtt.url'] : short;
}

const isTooShort = ({ length }: string) => length > 0 && length < shortestHiddenAnywhere;

/** The password, and the values in the query, one of which may be a token; encoded and decoded. */
function secretsInUrl({ password, search, searchParams }: URL): string[] {
  const written = search
    .split(/[?&]/)
    .slice(1)
    .map((each) => each.slice(each.indexOf('=') + 1));
  return [password, decodeURIComponent(password), ...written, ...searchParams.values()];
}

function readSecretAt(config: Config, path: readonly string[]): string | undefined {
  const key = path.slice(-1).join();
  return readSecret(valueAt(config, path.slice(0, -1)) as SecretSection<string>, key);
}

/** A file that cannot be read is reported by the part that needs the secret. */
function readIfPossible(read: () => string | undefined): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

const hiddenValue = '[hidden]';

/** The configuration without anything secret, as it may be published; values as one would write them. */
export function redactedConfig(config: Config): Tree {
  const written = optionRows.reduce<Tree>((tree, { path, type }) => {
    const value = valueAt(config, path.split('.'));
    return withValueAt(tree, path.split('.'), type === 'text' ? asWritten(value) : value);
  }, config);
  const redacted = secretPaths
    .map((path) => path.split('.'))
    .filter((path) => valueAt(config, path) !== null)
    .reduce<Tree>((tree, path) => withValueAt(tree, path, hiddenValue), written);
  return withPublicUrls(redacted, config);
}

/** An option that is text in the file is a number if it is a duration, and an object if it is a schedule or an address. */
function asWritten(value: unknown): unknown {
  if (typeof value === 'number') return formatDuration(value);
  if (typeof value !== 'object' || value === null) return value;
  if ('everyMs' in value) return formatDuration(Number(value.everyMs));
  if ('expression' in value) return value.expression;
  return 'host' in value && 'port' in value ? `${value.host}:${value.port}` : value;
}

// Broker URLs may hold a password or, in a query, a token; the webhook's address may hold its secret.
function withPublicUrls(tree: Tree, { mqtt, http }: Config): Tree {
  const url = Array.isArray(mqtt.url) ? mqtt.url.map(publicPart) : mqtt.url && publicPart(mqtt.url);
  const withBroker = withValueAt(tree, ['mqtt', 'url'], url);
  const { public_url } = http.webhook;
  if (public_url === null) return withBroker;
  return withValueAt(withBroker, ['http', 'webhook', 'public_url'], publicPart(public_url));
}

/** Protocol, host and port of a URL, and whether there was more. */
function publicPart(address: string): string {
  const { protocol, host } = new URL(address);
  const origin = `${protocol}//${host}`;
  return address.replace(/\/$/, '') === origin ? origin : `${origin}/${hiddenValue}`;
}
