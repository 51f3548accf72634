import { createSecureContext } from 'node:tls';
import { errorMessage } from '../base/errorMessage.ts';
import { didYouMean, nearest } from '../base/nearest.ts';
import { readBytes } from './file.ts';
import type { Problem } from './problems.ts';
import { optionRows, secretPaths } from './schema.ts';
import { readSecret } from './secrets.ts';
import { isTree, type Tree, valueAt } from './tree.ts';

/** The operations that routes may name, each with the names of its path parameters. */
export type OperationParams = Readonly<Record<string, readonly string[]>>;

/**
 * What is wrong between options, and with the files they name. Looks at the values as written, so that it
 * speaks even while the schema still refuses others.
 */
export function crossProblems(tree: Tree, operations: OperationParams | undefined): Problem[] {
  return [
    ...requiredProblems(tree),
    ...companionProblems(tree),
    ...topicProblems(tree),
    ...shardProblems(tree),
    ...secretProblems(tree),
    ...encryptionProblems(tree),
    ...certificateProblems(tree),
    ...routeProblems(tree, operations),
  ];
}

const at = (tree: Tree, path: string) => valueAt(tree, path.split('.'));
const defaultOf = (path: string) => optionRows.find((row) => row.path === path)?.default;
const problem = (path: string, message: string): Problem => ({ path: path.split('.'), message });

/** Whether a section can be looked into; when it is something else, the schema says so. */
const isSection = (tree: Tree, path: string) => isTree(at(tree, path) ?? {});

function requiredProblems(tree: Tree): Problem[] {
  const problems: Problem[] = [];
  if (isSection(tree, 'cloud') && !has(tree, 'cloud.password') && !has(tree, 'cloud.password_file')) {
    problems.push(problem('cloud.password', 'is required (or cloud.password_file)'));
  }
  const needsBroker = isSection(tree, 'mqtt') && at(tree, 'mqtt.embedded.enabled') !== true;
  if (needsBroker && !has(tree, 'mqtt.url')) {
    problems.push(problem('mqtt.url', 'is required, unless mqtt.embedded.enabled is true'));
  }
  return problems;
}

const has = (tree: Tree, path: string) => at(tree, path) !== undefined;

// The first is of no use without the second.
const companions: readonly (readonly [string, string])[] = [
  ['mqtt.cert_file', 'mqtt.key_file'],
  ['mqtt.key_file', 'mqtt.cert_file'],
  ['mqtt.embedded.username', 'mqtt.embedded.password'],
  ['mqtt.embedded.password', 'mqtt.embedded.username'],
  ['mqtt.embedded.password_file', 'mqtt.embedded.username'],
  ['http.webhook.register', 'http.webhook.public_url'],
];

function companionProblems(tree: Tree): Problem[] {
  return companions
    .filter(([path]) => has(tree, path) && at(tree, path) !== false)
    .filter(([, companion]) => !has(tree, companion) && !has(tree, `${companion}_file`))
    .map(([path, companion]) => problem(path, `needs ${companion} too`));
}

/** The bridge deletes what it no longer wants below its own topic, so other devices' discovery must not be there. */
function topicProblems(tree: Tree): Problem[] {
  const [base, discovery] = ['mqtt.base_topic', 'homeassistant.discovery_prefix'].map(
    (path) => at(tree, path) ?? defaultOf(path),
  );
  // What is no text is refused by the schema.
  if (typeof base !== 'string' || typeof discovery !== 'string') return [];
  if (!`${discovery}/`.startsWith(`${base}/`)) return [];
  return [problem('mqtt.base_topic', 'must not be the topic of homeassistant.discovery_prefix')];
}

function shardProblems(tree: Tree): Problem[] {
  const [index, count] = ['shard.index', 'shard.count'].map((path) => at(tree, path) ?? defaultOf(path));
  // What is no number is refused by the schema.
  if (typeof index !== 'number' || typeof count !== 'number' || count < 1 || index < count) return [];
  const message =
    count === 1
      ? 'must be 0 if shard.count is 1'
      : `must be from 0 to ${count - 1}, because shard.count is ${count}`;
  return [problem('shard.index', `${message}. Got ${index}`)];
}

function secretProblems(tree: Tree): Problem[] {
  return secretPaths.flatMap((path) => {
    const file = at(tree, `${path}_file`);
    if (file === undefined) return [];
    if (has(tree, path)) return [problem(`${path}_file`, `give either this or ${path}, not both`)];
    if (typeof file !== 'string') return [];
    return problemOf(`${path}_file`, () => readSecret({ x: null, x_file: file }, 'x'));
  });
}

/** Certificates are of no use to an address without TLS, and their owner believes that the connection is encrypted. */
function encryptionProblems(tree: Tree): Problem[] {
  const isPlain = (url: unknown) => typeof url === 'string' && /^\s*(mqtt|ws):/i.test(url);
  if (![at(tree, 'mqtt.url')].flat().some(isPlain)) return [];
  return ['mqtt.ca_file', 'mqtt.cert_file']
    .filter((path) => has(tree, path))
    .map((path) =>
      problem(path, 'needs a URL that begins with mqtts:// or wss://. Without it nothing is encrypted'),
    );
}

/** A file that cannot be read or used: TLS would say so only at the first connection, and without the name of the file. */
function certificateProblems(tree: Tree): Problem[] {
  const read = (path: string) => {
    const file = at(tree, path);
    return typeof file === 'string' ? readBytes(file) : undefined;
  };
  const files = ['mqtt.ca_file', 'mqtt.cert_file', 'mqtt.key_file'];
  const unreadable = files.flatMap((path) => problemOf(path, () => read(path)));
  if (unreadable.length > 0) return unreadable;
  const [ca, cert, key] = files.map(read);
  return [
    ...problemOf('mqtt.ca_file', () => ca && createSecureContext({ ca })),
    ...(cert && key ? problemOf('mqtt.key_file', () => createSecureContext({ cert, key })) : []),
  ];
}

/** The problem with an option that reading or using its file throws; none if nothing is thrown. */
function problemOf(path: string, use: () => unknown): Problem[] {
  try {
    use();
    return [];
  } catch (error) {
    const isOpenssl = error instanceof Error && 'reason' in error;
    const message = isOpenssl ? `cannot be used: ${error.reason}` : errorMessage(error);
    return [problem(path, message)];
  }
}

function routeProblems(tree: Tree, operations: OperationParams | undefined): Problem[] {
  const routes = at(tree, 'cloud.routes');
  if (!operations || !isTree(routes)) return [];
  return Object.entries(routes).flatMap(([name, route]): Problem[] => {
    const path = ['cloud', 'routes', name];
    const params = Object.hasOwn(operations, name) ? operations[name] : undefined;
    if (!params) {
      return [{ path, message: `unknown operation${didYouMean(nearest(name, Object.keys(operations)))}` }];
    }
    if (typeof route !== 'string') return [];
    const given = [...route.matchAll(/\{([^{}]*)\}/g)].map(([, param]) => param ?? '');
    const isSame = given.length === params.length && params.every((param) => given.includes(param));
    const wanted = params.map((param) => `{${param}}`).join(' and ') || 'no parameters';
    return isSame ? [] : [{ path, message: `the path must contain ${wanted}` }];
  });
}
