import { lookup } from 'node:dns/promises';
import { connect as connectTcp, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { systemClock } from '../base/clock.ts';
import { errorMessage } from '../base/errorMessage.ts';
import { didYouMean, nearest } from '../base/nearest.ts';
import { sanitize } from '../base/sanitize.ts';
import { describeUrl } from '../broker/brokerUrl.ts';
import type { Connection } from '../broker/connection.ts';
import { silentMessage } from '../broker/errorMessages.ts';
import { probeBroker } from '../broker/probeBroker.ts';
import type { CloudClient } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import { describeFailure } from '../cloud/networkErrors.ts';
import type { Call, ListName } from '../cloud/operations.ts';
import type { HowFar } from '../cloud/readList.ts';
import type { Config } from '../config/schema.ts';
import { brokerAddresses } from '../config/schema.ts';
import { namedProperty } from '../model/devices.ts';
import type { Incident, Property, Signal, Sonic } from '../model/records.ts';
import { isOurs, isShared } from '../model/shard.ts';
import { brokerOptions, cloudProxy } from '../partOptions.ts';
import { readWifiSonics } from '../polling/lists.ts';
import { portProblem } from './port.ts';
import type { Setup } from './setup.ts';

/** One thing to look at: what it says when it is well, or the error that it throws. */
export interface Step {
  readonly name: string;
  readonly run: () => Promise<string | Result>;
}

/** What a step has found, where that is more than that all is well. */
interface Result {
  readonly words: string;
  /** What may be worth a thought. */
  readonly warnings: readonly string[];
  /** What does not do what it should. */
  readonly failures: readonly string[];
}

/** Hears how the steps fare; what a step warns of comes after it has passed. */
export interface Reporter {
  readonly started: (name: string) => void;
  /** How far a step is that may take minutes. */
  readonly progress?: (name: string, words: string) => void;
  readonly passed: (name: string, words: string) => void;
  readonly warned: (name: string, words: string) => void;
  readonly failed: (name: string, words: string) => void;
}

/** What was found in the account, as far as it was read. */
export interface Account {
  properties?: readonly Property[];
  signals?: readonly Signal[];
  sonics?: readonly Sonic[];
  wifiSonics?: readonly Sonic[];
  openIncidents?: readonly Incident[];
}

/** Looks at the cloud and the account, step by step up to the first that fails; resolves to its error, or null. */
export function examineCloud(
  config: Config,
  client: CloudClient,
  report: Reporter,
  account: Account = {},
): Promise<unknown> {
  return runInTurn(cloudSteps(config, client, account, report), report);
}

/** Looks at each address of the broker, and with `work` at what is there; resolves to whether all let the bridge in. */
export async function examineBroker(
  setup: Setup,
  visitor: string,
  signal: AbortSignal,
  report: Reporter,
  work?: (connection: Connection) => Promise<void>,
): Promise<boolean> {
  let isWell = true;
  for (const step of brokerSteps(setup, visitor, signal, work)) {
    // The nodes of a cluster are looked at each on its own.
    if ((await runInTurn([step], report)) !== null) isWell = false;
  }
  return isWell;
}

/** One for each address of the broker. */
function brokerSteps(
  { config, log, secrets, findBroker }: Setup,
  visitor: string,
  signal: AbortSignal,
  work?: (connection: Connection) => Promise<void>,
): Step[] {
  const addresses = brokerAddresses(config);
  const parts = { clock: systemClock, log, signal };
  if (addresses.length === 0) {
    const words = 'the embedded one, which starts with the bridge';
    const { host, port } = config.mqtt.embedded;
    const look = async () => {
      const problem = work ? null : await portProblem(host, port);
      if (problem === null && !work) return words;
      try {
        await probeBroker(brokerOptions(config, secrets), visitor, parts, async (connection) => {
          await work?.(connection);
        });
        return `${words} and runs`;
      } catch (error) {
        throw problem === null ? error : new Error(`mqtt.embedded: ${problem}`);
      }
    };
    return [{ name: 'MQTT broker', run: look }];
  }
  return addresses.map((url) => ({
    name: 'MQTT broker',
    run: () =>
      probeBroker(
        { ...brokerOptions(config, secrets, findBroker), urls: [url] },
        visitor,
        parts,
        async (connection) => {
          await work?.(connection);
          if (findBroker) return 'the one that Home Assistant names lets the bridge in';
          return `${describeUrl(url)} lets the bridge in`;
        },
      ),
  }));
}

function cloudSteps(config: Config, client: CloudClient, account: Account, report: Reporter): Step[] {
  const howFar = (words: string) => report.progress?.('account', words);
  const url = new URL(config.cloud.base_url);
  // One attempt for both steps: the cloud counts them.
  let attempt: Promise<unknown> | undefined;
  const signIn = () => {
    attempt ??= client.call({ operation: 'validate_token' });
    return attempt;
  };
  return [
    ...networkSteps(config, url),
    {
      name: 'cloud: HTTP',
      run: async () => {
        const failure: unknown = await signIn().then(
          () => null,
          (error) => error,
        );
        if (failure !== null && !wasAnswered(failure)) throw failure;
        return `${url.host} answers`;
      },
    },
    {
      name: 'sign-in',
      run: async () => {
        await signIn();
        return 'the cloud accepts the e-mail and the password';
      },
    },
    { name: 'account', run: () => examineAccount(config, client, account, howFar) },
  ];
}

/** Behind a proxy the name of the cloud need not be known here, and TLS comes with HTTP. */
function networkSteps(config: Config, url: URL): Step[] {
  const timeoutMs = config.cloud.request_timeout;
  const proxy = cloudProxy(config);
  if (proxy) {
    const reach = () => inWords(proxy, reachSocket(proxy, timeoutMs));
    return [{ name: 'cloud: proxy', run: async () => `${await reach()}, for ${url.host}` }];
  }
  const host = hostOf(url);
  const lookUp = async () => `${host} is ${(await inWords(url, lookup(host))).address}`;
  return [
    {
      name: 'cloud: DNS',
      run: async () => (isIP(host) === 0 ? lookUp() : `${host} needs no looking up`),
    },
    {
      name: url.protocol === 'https:' ? 'cloud: TLS' : 'cloud: TCP',
      run: () => inWords(url, reachSocket(url, timeoutMs)),
    },
  ];
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** Counts what is in the account, which is noted as it is read, with what may be worth a thought. */
async function examineAccount(
  { filters, shard }: Config,
  client: CloudClient,
  account: Account,
  howFar: (words: string) => void,
): Promise<Result> {
  const list = async <Name extends ListName>(call: Call<Name>) => {
    const onPage = (_pages: HowFar, { read, announced }: HowFar) => {
      const what = call.operation.replace('list_', '');
      howFar(announced === null ? `${what} ${read}` : `${what} ${read} of ${announced}`);
    };
    let crawl = await client.readList(call, { onPage });
    // The list of a busy account may change while it is read.
    if (crawl.isInDoubt) crawl = await client.readList(call, { onPage });
    if (crawl.problem) throw new Error(`${call.operation}: ${crawl.problem}`);
    return crawl.records;
  };
  const properties = await list({ operation: 'list_properties' });
  account.properties = properties;
  const signals = await list({ operation: 'list_signals' });
  account.signals = signals;
  const sonics = await list({ operation: 'list_sonics' });
  account.sonics = sonics;
  const wifi = await readWifiSonics(client, () => false);
  if (wifi.problem !== null) throw new Error(`list_wifi_sonics: ${wifi.problem.message}`);
  account.wifiSonics = wifi.records;
  const incidents = await list({ operation: 'list_incidents', query: { open: true } });
  account.openIncidents = incidents;
  const found = [
    counted(properties.length, 'property', 'properties'),
    counted(signals.length, 'signal'),
    counted(sonics.length, 'sonic'),
    ...(wifi.records.length === 0 ? [] : [counted(wifi.records.length, 'Wi-Fi sonic')]),
    counted(incidents.length, 'open incident'),
  ].join(', ');
  const supplied = new Set(wifi.records.map(namedProperty));
  const unsupplied = properties.filter(({ id }) => !supplied.has(id));
  const empty = await propertiesWithoutSignals(client, unsupplied);
  return {
    words: [found, ...selectionNotes(filters.properties, properties), ...shardNotes(shard, properties)].join(
      '; ',
    ),
    warnings: [
      ...(sonics.length + wifi.records.length === 0 ? ['there is no valve to show'] : []),
      ...empty.map((name) => `no signal (hub) in ${name}`),
    ],
    failures: strangers(filters.properties, properties),
  };
}

/** Whether the cloud has answered, if only to say no. */
function wasAnswered(error: unknown): boolean {
  return error instanceof CloudError && (error.status !== undefined || error.kind === 'auth');
}

/** How many properties filters.properties selects. */
function selectionNotes(selection: readonly string[], properties: readonly Property[]): string[] {
  if (selection.length === 0) return [];
  const selected = properties.filter(({ id, name }) =>
    [id, name ?? id].some((word) => selection.includes(word)),
  );
  return [
    `filters.properties selects ${selected.length} of ${counted(properties.length, 'property', 'properties')}`,
  ];
}

/** Words of filters.properties that no property has. */
function strangers(selection: readonly string[], properties: readonly Property[]): string[] {
  const words = properties.flatMap(({ id, name }) => (name ? [name, id] : [id]));
  return selection
    .filter((word) => !words.includes(word))
    .map((word) => {
      const near = nearest(word, words);
      const problem = `filters.properties: the account has no property ${word}`;
      return problem + didYouMean(near && sanitize(near));
    });
}

/** Which part of the account is this bridge's. */
function shardNotes(shard: Config['shard'], properties: readonly Property[]): string[] {
  if (!isShared(shard)) return [];
  const own = properties.filter(({ id }) => isOurs(id, shard)).length;
  const all = counted(properties.length, 'property', 'properties');
  return [
    `shard.index ${shard.index} of ${shard.count} bridges: ${own} of ${all} are this one's, before any filter`,
  ];
}

/** Names of properties in which no valve can be, of the first twenty. */
async function propertiesWithoutSignals(
  client: CloudClient,
  properties: readonly Property[],
): Promise<string[]> {
  const names = properties.slice(0, 20).map(async ({ id, name }) => {
    const signals = await client.call({ operation: 'list_property_signals', params: { property_id: id } });
    return signals.records.length === 0 ? [sanitize(name ?? id)] : [];
  });
  return (await Promise.all(names)).flat();
}

/** The same, rejecting with words instead of codes; the step's name says already what it is about. */
async function inWords<T>(url: URL, reaching: Promise<T>): Promise<T> {
  try {
    return await reaching;
  } catch (error) {
    throw new Error(describeFailure(error, { url, proxy: null }, false).message.replace(/^(DNS|TLS): /, ''));
  }
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** A connection to the cloud or the proxy as the cloud client will make it: TCP, and TLS where the address says so. */
function reachSocket(url: URL, timeoutMs: number): Promise<string> {
  const host = hostOf(url);
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  return new Promise((resolve, reject) => {
    const isTls = url.protocol === 'https:';
    const socket = isTls
      ? connectTls({
          host,
          port,
          timeout: timeoutMs,
          rejectUnauthorized: true,
          ...(isIP(host) === 0 && { servername: host }),
        })
      : connectTcp({ host, port, timeout: timeoutMs });
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      resolve(`${host}:${port} ${isTls ? 'has a valid certificate' : 'is reached'}`);
      socket.destroy();
    });
    socket.once('timeout', () => socket.destroy(new Error(silentMessage)));
    socket.once('error', reject);
  });
}

/** Runs the steps until one fails; resolves to its error, null when all pass. */
export async function runInTurn(steps: readonly Step[], report: Reporter): Promise<unknown> {
  for (const { name, run } of steps) {
    report.started(name);
    try {
      const found = await run();
      const { words, warnings, failures } =
        typeof found === 'string' ? { words: found, warnings: [], failures: [] } : found;
      report.passed(name, words);
      for (const each of warnings) report.warned(name, each);
      for (const each of failures) report.failed(name, each);
      if (failures.length > 0) return new Error(failures.join('; '));
    } catch (error) {
      report.failed(name, wordsOf(error));
      return error;
    }
  }
  return null;
}

function wordsOf(error: unknown): string {
  // The bridge would try again; this command does not.
  if (error instanceof CloudError && error.kind === 'auth' && error.status !== undefined) {
    return `the cloud does not accept the e-mail or the password (HTTP ${error.status})`;
  }
  return errorMessage(error);
}
