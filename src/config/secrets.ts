import { formatDuration } from '../base/duration.ts';
import { shortestHiddenAnywhere } from '../base/secrets.ts';
import { readBytes, textOf } from './file.ts';
import { brokerAddresses, type Config, optionRows, secretPaths } from './schema.ts';
import { type Tree, valueAt, withValueAt } from './tree.ts';

type SecretSection<Key extends string> = Readonly<Record<Key | `${Key}_file`, string | null>>;

/**
 * A secret of a section such as `config.cloud`: its value, or the current content of its file; undefined if neither is
 * given. Throws a message for people if the file is unreadable or empty.
 */
export function readSecret<Key extends string>(section: SecretSection<Key>, key: Key): string | undefined {
  const file = section[`${key}_file`];
  if (file === null) return section[key] ?? undefined;
  return secretIn(file, readBytes(file));
}

/** The secret in a file with these bytes. Throws like `readSecret`. */
export function secretIn(file: string, bytes: Buffer): string {
  const secret = textOf(file, bytes).replace(/[\r\n]+$/, '');
  if (secret === '') throw new Error(`the file ${file} is empty`);
  return secret;
}

/** All secrets in the configuration and in the files that it names. Files that cannot be read now are left out. */
export function secretsOf(config: Config): string[] {
  const inUrls = brokerAddresses(config).flatMap((address) => secretsInUrl(new URL(address)));
  const { key_file } = config.mqtt;
  const readers = [
    ...secretPaths.map((path) => () => readSecretAt(config, path.split('.'))),
    ...(key_file === null ? [] : [() => readBytes(key_file).toString('utf8').trim()]),
  ];
  return [...inUrls, ...readers.map(readIfPossible)].filter((secret) => secret !== undefined);
}

/** The options whose secrets are too short to be hidden everywhere. */
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

/** The password of a URL, and the values of its query, because one may be a token. Each is encoded and decoded. */
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

/** Undefined if the file cannot be read. The part that needs the secret reports that. */
function readIfPossible(read: () => string | undefined): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

const hiddenValue = '[hidden]';

/** The configuration without secrets, so that it may be published. The values are as a user would write them. */
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

/** Durations, schedules and addresses are text in the file, but numbers or objects here. */
function asWritten(value: unknown): unknown {
  if (typeof value === 'number') return formatDuration(value);
  if (typeof value !== 'object' || value === null) return value;
  if ('everyMs' in value) return formatDuration(Number(value.everyMs));
  if ('expression' in value) return value.expression;
  return 'host' in value && 'port' in value ? `${value.host}:${value.port}` : value;
}

// The URL of a broker may hold a password or, in its query, a token.
function withPublicUrls(tree: Tree, { mqtt }: Config): Tree {
  const url = Array.isArray(mqtt.url) ? mqtt.url.map(publicPart) : mqtt.url && publicPart(mqtt.url);
  return withValueAt(tree, ['mqtt', 'url'], url);
}

/** Protocol, host and port of a URL, with a mark if there was more. */
function publicPart(address: string): string {
  const { protocol, host } = new URL(address);
  const origin = `${protocol}//${host}`;
  return address.replace(/\/$/, '') === origin ? origin : `${origin}/${hiddenValue}`;
}
