import { lookup } from 'node:dns/promises';
import { connect as connectTcp, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { didYouMean, nearest } from '../base/nearest.ts';
import { sanitize } from '../base/sanitize.ts';
import { silentMessage } from '../broker/errorMessages.ts';
import type { CloudClient } from '../cloud/client.ts';
import type { HowFar } from '../cloud/crawl.ts';
import { CloudError, isPermanent } from '../cloud/errors.ts';
import { describeFailure } from '../cloud/networkErrors.ts';
import type { Call, ListName } from '../cloud/operations.ts';
import type { Config } from '../config/schema.ts';
import { settingsRefused } from '../health/accountProblems.ts';
import { isSameId } from '../model/ids.ts';
import type { Incident, Property, Signal, Sonic } from '../model/records.ts';
import { cloudProxy } from '../partOptions.ts';
import { readWifiSonics } from '../polling/lists.ts';
import { type Check, type CheckResult, ok } from './checks.ts';

/** The data of the account, as far as it was read. */
export interface CheckedAccount {
  properties?: readonly Property[];
  signals?: readonly Signal[];
  sonics?: readonly Sonic[];
  wifiSonics?: readonly Sonic[];
  openIncidents?: readonly Incident[];
  /** Names of the properties whose settings the cloud does not show to this account. */
  withoutSettings?: readonly string[];
}

/** The settings of at most this many properties are read. */
const maxSettingsTried = 20;

/**
 * The checks of the cloud and the account. Each needs those before it. They store the data that they read in `account`.
 */
export function cloudChecks(config: Config, client: CloudClient, account: CheckedAccount = {}): Check[] {
  const url = new URL(config.cloud.base_url);
  // Two checks share one sign-in, because the cloud limits sign-ins.
  let signedIn: Promise<unknown> | undefined;
  const signIn = () => {
    signedIn ??= client.call({ operation: 'validate_token' });
    return signedIn;
  };
  const http = async () => {
    await signIn().catch((error) => {
      if (!wasAnswered(error)) throw error;
    });
    return ok(`${url.host} answers`);
  };
  const signInCheck = async () => {
    await signIn();
    return ok('the cloud accepts the e-mail and the password');
  };
  return [
    ...networkChecks(config, url),
    { name: 'cloud: HTTP', run: http },
    { name: 'sign-in', run: signInCheck },
    {
      name: 'account',
      run: async (progress) => {
        await readAccount(client, account, progress);
        account.withoutSettings = await readSettings(client, selectedBy(config, account));
        return findingsOn(account, config);
      },
    },
  ];
}

/**
 * Checks of DNS, TCP and TLS. With a proxy, only the proxy is checked: the cloud's name need not be known on this
 * machine, and TLS to the cloud is part of the HTTP check.
 */
function networkChecks(config: Config, url: URL): Check[] {
  const timeoutMs = config.cloud.request_timeout;
  const proxy = cloudProxy(config);
  if (proxy) {
    const reach = async () => ok(`connected to ${await connectTo(proxy, timeoutMs)} for ${url.host}`);
    return [{ name: 'cloud: proxy', run: reach }];
  }
  const host = hostOf(url);
  const isTls = url.protocol === 'https:';
  const lookUp = async () => {
    const { address } = await lookup(host).catch((error) => fail(error, url));
    return ok(`${host} is ${address}`);
  };
  const reach = async () => {
    const reached = await connectTo(url, timeoutMs);
    return ok(isTls ? `${reached} has a valid certificate` : `connected to ${reached}`);
  };
  return [
    ...(isIP(host) === 0 ? [{ name: 'cloud: DNS', run: lookUp }] : []),
    { name: isTls ? 'cloud: TLS' : 'cloud: TCP', run: reach },
  ];
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** Connects like the cloud client: TCP, and TLS if the address says so. Resolves to host and port. */
async function connectTo(url: URL, timeoutMs: number): Promise<string> {
  const host = hostOf(url);
  const isTls = url.protocol === 'https:';
  const port = Number(url.port) || (isTls ? 443 : 80);
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const options = { host, port, timeout: timeoutMs };
  try {
    await new Promise<void>((resolve, reject) => {
      const socket = isTls
        ? connectTls({ ...options, ...servername, rejectUnauthorized: true })
        : connectTcp(options);
      socket.once(isTls ? 'secureConnect' : 'connect', () => {
        resolve();
        socket.destroy();
      });
      socket.once('timeout', () => socket.destroy(new Error(silentMessage)));
      socket.once('error', reject);
    });
  } catch (error) {
    fail(error, url);
  }
  return `${host}:${port}`;
}

/**
 * Throws an error for people, without "DNS" or "TLS" at its beginning, because the name of the check says that already.
 */
function fail(error: unknown, url: URL): never {
  const { message } = describeFailure(error, { url, proxy: null }, false);
  throw new Error(message.replace(/^(DNS|TLS): /, ''), { cause: error });
}

/** Whether the cloud has answered, even by rejecting the account. */
function wasAnswered(error: unknown): boolean {
  return error instanceof CloudError && (error.status !== undefined || error.kind === 'auth');
}

/** Reads all lists. */
async function readAccount(
  client: CloudClient,
  account: CheckedAccount,
  progress: (words: string) => void,
): Promise<void> {
  const read = async <Name extends ListName>(call: Call<Name>) => {
    const onPage = (_pages: HowFar, { read, announced }: HowFar) => {
      const what = call.operation.replace('list_', '');
      progress(announced === null ? `${what} ${read}` : `${what} ${read} of ${announced}`);
    };
    let list = await client.readList(call, { onPage });
    // In a busy account, a list may change while it is read. Then it is read once more.
    if (list.isInconsistent) list = await client.readList(call, { onPage });
    if (list.problem) throw new Error(`${call.operation}: ${list.problem}`);
    return list.records;
  };
  account.properties = await read({ operation: 'list_properties' });
  account.signals = await read({ operation: 'list_signals' });
  account.sonics = await read({ operation: 'list_sonics' });
  const wifi = await readWifiSonics(client, () => false);
  if (wifi.problem !== null) throw new Error(`list_wifi_sonics: ${wifi.problem.message}`);
  account.wifiSonics = wifi.records;
  account.openIncidents = await read({ operation: 'list_incidents', query: { open: true } });
}

/** The properties that the filter selects. */
function selectedBy({ filters }: Config, { properties = [] }: CheckedAccount): readonly Property[] {
  const isNamed = ({ id, name }: Property) =>
    filters.properties.some((word) => isSameId(word, id) || word === name);
  return filters.properties.length === 0 ? properties : properties.filter(isNamed);
}

/**
 * Tries to read the settings of each property. Returns the names of the properties for which the cloud refuses that.
 */
async function readSettings(client: CloudClient, properties: readonly Property[]): Promise<string[]> {
  const refused: string[] = [];
  if (!client.isOffered('read_property_settings')) return refused;
  for (const { id, name } of properties.slice(0, maxSettingsTried)) {
    try {
      await client.call({ operation: 'read_property_settings', params: { property_id: id } });
    } catch (error) {
      if (!isPermanent(error)) throw error;
      refused.push(name ?? id);
    }
  }
  return refused;
}

/** Findings about the contents of the account, and about what the configuration selects of it. */
function findingsOn(account: CheckedAccount, config: Config): CheckResult[] {
  const { filters } = config;
  const { properties = [], signals = [], sonics = [], wifiSonics = [], openIncidents = [] } = account;
  const { withoutSettings = [] } = account;
  const names = properties.flatMap(({ id, name }) => (name ? [name, id] : [id]));
  const selected = selectedBy(config, account);
  const all = countOf(properties.length, 'property', 'properties');
  const words = [
    ...[all, countOf(signals.length, 'hub'), countOf(sonics.length, 'valve')],
    ...(wifiSonics.length > 0 ? [countOf(wifiSonics.length, 'Wi-Fi valve')] : []),
    countOf(openIncidents.length, 'open alert'),
    ...(filters.properties.length > 0 ? [`filters.properties selects ${selected.length} of ${all}`] : []),
  ];
  const hasValves = sonics.length + wifiSonics.length > 0;
  const noValve =
    properties.length > 0 && signals.length === 0
      ? 'the account has a property, but no hub'
      : 'the account has no valve';
  const unknown = filters.properties.filter(
    (word) => !names.some((name) => name === word || isSameId(name, word)),
  );
  return [
    ...ok(words.join(', ')),
    ...(hasValves ? [] : [{ outcome: 'WARN', words: noValve } as const]),
    ...withoutSettings.map((name) => ({ outcome: 'WARN' as const, words: settingsRefused(sanitize(name)) })),
    ...unknown.map((word) => {
      const near = nearest(word, names);
      const problem = `filters.properties: the account has no property ${sanitize(word)}`;
      return { outcome: 'FAIL', words: problem + didYouMean(near && sanitize(near)) } as const;
    }),
  ];
}

function countOf(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}
