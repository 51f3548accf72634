import { createSecureContext } from 'node:tls';
import { errorMessage } from '../base/errorMessage.ts';
import { didYouMean, nearest } from '../base/nearest.ts';
import { readBytes } from './file.ts';
import type { ConfigProblem } from './problems.ts';
import { optionRows, secretPaths } from './schema.ts';
import { readSecret } from './secrets.ts';
import { isTree, type Tree, valueAt } from './tree.ts';

/** The operations that routes may name. For each, the names of its path parameters. */
export type OperationParams = Readonly<Record<string, readonly string[]>>;

/**
 * Problems between several options, and with the files that options name. The checks use the values as written, so they
 * find these problems even if the schema refuses other values.
 */
export function crossProblems(tree: Tree, operations: OperationParams | undefined): ConfigProblem[] {
  return [
    ...requiredProblems(tree),
    ...companionProblems(tree),
    ...topicProblems(tree),
    ...secretProblems(tree),
    ...encryptionProblems(tree),
    ...certificateProblems(tree),
    ...routeProblems(tree, operations),
  ];
}

const at = (tree: Tree, path: string) => valueAt(tree, path.split('.'));
const defaultOf = (path: string) => optionRows.find((row) => row.path === path)?.default;
const optionProblem = (path: string, message: string): ConfigProblem => ({ path: path.split('.'), message });

/** Whether the place is a section or left out. The schema reports anything else. */
const isSection = (tree: Tree, path: string) => isTree(at(tree, path) ?? {});

function requiredProblems(tree: Tree): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  if (isSection(tree, 'cloud') && !has(tree, 'cloud.password') && !has(tree, 'cloud.password_file')) {
    problems.push(optionProblem('cloud.password', 'is required (or cloud.password_file)'));
  }
  const needsBroker = isSection(tree, 'mqtt') && at(tree, 'mqtt.embedded.enabled') !== true;
  if (needsBroker && !has(tree, 'mqtt.url')) {
    problems.push(optionProblem('mqtt.url', 'is required, unless mqtt.embedded.enabled is true'));
  }
  return problems;
}

const has = (tree: Tree, path: string) => at(tree, path) !== undefined;

// In each pair, the first option needs the second.
const companions: readonly (readonly [string, string])[] = [
  ['mqtt.cert_file', 'mqtt.key_file'],
  ['mqtt.key_file', 'mqtt.cert_file'],
  ['mqtt.embedded.username', 'mqtt.embedded.password'],
  ['mqtt.embedded.password', 'mqtt.embedded.username'],
  ['mqtt.embedded.password_file', 'mqtt.embedded.username'],
];

function companionProblems(tree: Tree): ConfigProblem[] {
  return companions
    .filter(([path]) => has(tree, path) && at(tree, path) !== false)
    .filter(([, companion]) => !has(tree, companion) && !has(tree, `${companion}_file`))
    .map(([path, companion]) => optionProblem(path, `needs ${companion} too`));
}

/** The bridge deletes old messages under its own topic, so other devices' discovery messages must not be there. */
function topicProblems(tree: Tree): ConfigProblem[] {
  const [base, discovery] = ['mqtt.base_topic', 'homeassistant.discovery_prefix'].map(
    (path) => at(tree, path) ?? defaultOf(path),
  );
  // The schema reports values that are not text.
  if (typeof base !== 'string' || typeof discovery !== 'string') return [];
  if (!`${discovery}/`.startsWith(`${base}/`)) return [];
  return [optionProblem('mqtt.base_topic', 'must not be the topic of homeassistant.discovery_prefix')];
}

function secretProblems(tree: Tree): ConfigProblem[] {
  return secretPaths.flatMap((path) => {
    const file = at(tree, `${path}_file`);
    if (file === undefined) return [];
    if (has(tree, path)) return [optionProblem(`${path}_file`, `give either this or ${path}, not both`)];
    if (typeof file !== 'string') return [];
    return problemOf(`${path}_file`, () => readSecret({ x: null, x_file: file }, 'x'));
  });
}

/** If the broker's address has no TLS, certificates have no effect, although the user expects encryption. */
function encryptionProblems(tree: Tree): ConfigProblem[] {
  const isPlain = (url: unknown) => typeof url === 'string' && /^\s*(mqtt|ws):/i.test(url);
  if (![at(tree, 'mqtt.url')].flat().some(isPlain)) return [];
  return ['mqtt.ca_file', 'mqtt.cert_file']
    .filter((path) => has(tree, path))
    .map((path) =>
      optionProblem(path, 'needs a URL that begins with mqtts:// or wss://. Without it nothing is encrypted'),
    );
}

/** TLS would report unusable certificate files only at the first connection, without their names. */
function certificateProblems(tree: Tree): ConfigProblem[] {
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

/** Turns the error of reading or using an option's file into a problem of the option; empty if there is no error. */
function problemOf(path: string, use: () => unknown): ConfigProblem[] {
  try {
    use();
    return [];
  } catch (error) {
    const isOpenssl = error instanceof Error && 'reason' in error;
    const message = isOpenssl ? `cannot be used: ${error.reason}` : errorMessage(error);
    return [optionProblem(path, message)];
  }
}

function routeProblems(tree: Tree, operations: OperationParams | undefined): ConfigProblem[] {
  const routes = at(tree, 'cloud.routes');
  if (!operations || !isTree(routes)) return [];
  return Object.entries(routes).flatMap(([name, route]): ConfigProblem[] => {
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
