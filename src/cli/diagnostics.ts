import { homedir, hostname, release, type, userInfo } from 'node:os';
import { Secrets } from '../base/secrets.ts';
import { version } from '../base/version.ts';
import { parseBrokerUrl } from '../broker/brokerUrl.ts';
import type { CloudClient } from '../cloud/client.ts';
import { operationNames } from '../cloud/operations.ts';
import { isLoopback } from '../config/addresses.ts';
import { ConfigError } from '../config/problems.ts';
import { brokerAddresses, optionRows } from '../config/schema.ts';
import { isAtOrBelow, valueAt } from '../config/tree.ts';
import { configWarnings } from '../config/warnings.ts';
import { topicsOf } from '../partOptions.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { type Account, examineBroker, examineCloud } from './examination.ts';
import { type Finding, findings } from './findings.ts';
import { keptFiles } from './keptFiles.ts';
import { leave, ownClient } from './ownSession.ts';
import { hidePrivateFields, standInForRecords } from './privateFields.ts';
import { type Published, publishedAvailability, readPublished, shownPublished } from './published.ts';
import { type Setup, setUp } from './setup.ts';
import { shownConfiguration } from './shownConfiguration.ts';
import { StandIns } from './standIns.ts';
import { tryOperations } from './tryOperations.ts';

/** Whoever waits for it wants to write a bug report; what has not ended by then is said to be so. */
const limitMs = 30_000;

/** `sonic2mqtt diagnostics`: one JSON for a bug report, in which nothing says whose it is. */
export async function diagnostics(context: CommandContext): Promise<number> {
  const about = {
    made_at: new Date().toISOString(),
    program: {
      version,
      node: process.version,
      os: `${type()} ${release()}`,
      architecture: process.arch,
    },
  };
  const print = (report: object) => context.print(JSON.stringify(report, null, 2));
  let setup: Setup;
  try {
    setup = await setUp(context, { level: 'error' });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const standIns = standInsFor(context, new Secrets());
    print({
      ...about,
      configuration: { problems: error.problems.map((each) => shownProblem(each, standIns)) },
    });
    return exitStatus.badUsage;
  }
  const seen = await look(setup, context);
  if (context.signal.aborted) return exitStatus.failed;
  print({ ...about, ...(await reportOn(setup, seen, context)) });
  return exitStatus.done;
}

/** What was given in place of something right may be anything, also a password; and so may a key be that nobody knows. */
function shownProblem(problem: string, standIns: StandIns): string {
  const [, path = '', place = '', words = ''] = /^([^ ]+)( \(.*?\)): (.*)$/s.exec(problem) ?? [];
  if (!words) return standIns.hide(problem);
  const known = path.split('.').filter((_, index, steps) => {
    const place = steps.slice(0, index + 1).join('.');
    return optionRows.some((row) => isAtOrBelow(row.path, place));
  });
  const shown = known.length === path.split('.').length ? path : [...known, '…'].join('.');
  return `${shown}${place}: ${standIns.hide(words.replace(/; got .*/s, ''))}`;
}

/** What could be seen within the time. */
interface Seen {
  readonly cloud: readonly Finding[];
  readonly broker: readonly Finding[];
  readonly account: Account;
  readonly published: Published | null;
  readonly client: CloudClient;
}

async function look(setup: Setup, context: CommandContext): Promise<Seen> {
  const { config } = setup;
  const timeout = AbortSignal.timeout(limitMs);
  const signal = AbortSignal.any([context.signal, timeout]);
  const client = ownClient(setup);
  client.start(new AbortController().signal);
  const [cloud, broker] = [findings(limitMs), findings(limitMs)];
  const account: Account = {};
  let published: Published | null = null;
  const lookAtCloud = async () => {
    if ((await examineCloud(config, client, cloud, account)) !== null) return;
    await tryOperations(client, account, signal);
  };
  const lookAtBroker = () =>
    examineBroker(setup, 'diagnostics', signal, broker, async (connection) => {
      published ??= await readPublished(connection, topicsOf(config));
    });
  const ended = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  await Promise.all([Promise.race([lookAtCloud(), ended]), Promise.race([lookAtBroker(), ended])]);
  // What comes from now on, as the connections are closed, is no finding.
  const found = { cloud: cloud.end(), broker: broker.end() };
  await leave(client, context.signal);
  return { ...found, account, published, client };
}

async function reportOn(setup: Setup, seen: Seen, context: CommandContext): Promise<object> {
  const { config, file, secrets } = setup;
  const { account, published, client } = seen;
  const standIns = standInsFor(context, secrets);
  noteConfiguration(standIns, setup);
  noteRecords(standIns, seen);
  // What none of the account is called may be a former name.
  for (const [index, word] of config.filters.properties.entries())
    standIns.set(word, `[filter ${index + 1}]`);
  const check = [...seen.cloud, ...seen.broker].map(({ step, outcome, words }) => ({
    step: standIns.hide(step),
    outcome,
    words: standIns.hide(words),
  }));
  const bridge = published && shownPublished(published, standIns);
  const kept = await keptFiles(config.data_dir, standIns);
  // One that nothing has shown to be missing is there, but somebody must have looked.
  const isKnown = account.openIncidents !== undefined;
  const operations = operationNames.map((name) => {
    const own = client.availability(name);
    const said = published ? publishedAvailability(published, name) : undefined;
    return [name, own === 'off' ? own : (said ?? (isKnown ? own : 'unknown'))];
  });
  return {
    configuration: {
      from: file === null ? 'environment' : 'file and environment',
      variables: Object.keys(context.env).filter((name) => name.startsWith('SONIC2MQTT_')),
      warnings: configWarnings(config).map((each) => standIns.hide(each)),
      values: shownConfiguration(config, standIns),
    },
    check,
    counts: countsOf(account, standIns),
    operations: Object.fromEntries(operations),
    bridge: bridge ?? { words: 'the broker could not be asked what a bridge has published' },
    data_dir: kept,
    last_errors: [
      ...check
        .filter(({ outcome }) => outcome === 'failed' || outcome === 'unfinished')
        .map(({ step, words }) => ({ from: `check, ${step}`, words })),
      ...lastErrorsOf(bridge),
      ...('problem' in kept ? [{ from: 'data_dir', words: kept.problem }] : []),
    ],
  };
}

/** What a running bridge says was wrong. */
function lastErrorsOf(bridge: object | null): object[] {
  const schedules = Object.entries(Object(valueAt(bridge, ['health', 'schedules'])));
  const failed = schedules.flatMap(([name, record]) => {
    const { last_error, last_success, consecutive_failures } = Object(record);
    if (last_error === null) return [];
    return [{ from: `bridge, ${name}`, words: last_error, last_success, consecutive_failures }];
  });
  const reason = valueAt(bridge, ['health', 'reason']);
  return [...failed, ...(typeof reason === 'string' ? [{ from: 'bridge, health', words: reason }] : [])];
}

/** Null for what was not read. */
function countsOf(account: Account, standIns: StandIns): object {
  const { properties, signals, sonics, wifiSonics, openIncidents } = account;
  const byType: Record<string, number> = {};
  for (const { type } of openIncidents ?? []) {
    const word = standIns.hide(type ?? 'none');
    byType[word] = (byType[word] ?? 0) + 1;
  }
  return {
    properties: properties?.length ?? null,
    signals: signals?.length ?? null,
    sonics: sonics?.length ?? null,
    wifi_sonics: wifiSonics?.length ?? null,
    open_incidents: openIncidents?.length ?? null,
    open_incidents_by_type: openIncidents ? byType : null,
  };
}

/** Where and as whom the program runs is nobody's business. */
function standInsFor({ cwd, env, configFile }: CommandContext, secrets: Secrets): StandIns {
  const standIns = new StandIns(secrets);
  for (const file of [configFile, env['SONIC2MQTT_CONFIG']]) standIns.set(file, '[configuration file]');
  standIns.set(hostname(), '[this machine]');
  for (const folder of [cwd, homedir()]) if (folder !== '/') standIns.set(folder, '[folder]');
  const { username } = userInfo();
  if (username !== 'root') standIns.set(username, '[user]');
  return standIns;
}

function noteConfiguration(standIns: StandIns, { config, file }: Setup): void {
  const { cloud, mqtt, http } = config;
  standIns.set(file, '[configuration file]');
  standIns.set(config.data_dir, '[data_dir]');
  standIns.set(cloud.email, '[e-mail]');
  const own = (host: string) => isLoopback(host) || host === '0.0.0.0' || host === '::';
  const host = (name: string, standIn: string) => own(name) || standIns.set(name, standIn);
  host(new URL(cloud.base_url).hostname, 'cloud-host');
  for (const [index, address] of brokerAddresses(config).entries()) {
    const { host: name, username } = parseBrokerUrl(address);
    host(name, `broker-${index + 1}`);
    standIns.set(username, '[user name]');
  }
  host(mqtt.embedded.host, 'own-host');
  if (http.listen) host(http.listen.host, 'own-host');
  if (http.webhook.public_url) host(new URL(http.webhook.public_url).hostname, 'webhook-host');
  for (const { path, type, default: usual } of optionRows) {
    if (type !== 'text' || !/(_file|username|client_id|_topic|_prefix)$/.test(path)) continue;
    const value = valueAt(config, path.split('.'));
    if (typeof value === 'string' && value !== usual) standIns.set(value, `[${path}]`);
  }
}

/** Both what the cloud says and what was published: either may be away. */
function noteRecords(standIns: StandIns, { account, published }: Seen): void {
  const shown = (kind: string) =>
    (published?.records ?? [])
      .filter((each) => each.kind === kind)
      .map(({ record }) => record as { id: string });
  const { properties = [], signals = [], sonics = [], wifiSonics = [], openIncidents = [] } = account;
  const byKind = {
    property: [...properties, ...shown('property')],
    signal: [...signals, ...shown('signal')],
    sonic: [...sonics, ...wifiSonics, ...shown('sonic')],
    incident: [...openIncidents],
  };
  for (const kind of ['property', 'signal', 'sonic', 'incident'] as const) {
    const each = new Map(byKind[kind].map((record) => [record.id, record]));
    standInForRecords(standIns, kind, [...each.values()]);
  }
  hidePrivateFields(standIns, Object.values(byKind));
}
