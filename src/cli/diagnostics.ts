import { readdir, readFile, stat } from 'node:fs/promises';
import { release, type } from 'node:os';
import { join } from 'node:path';
import { errorMessage } from '../base/errorMessage.ts';
import { version } from '../base/version.ts';
import { fileVariable, variableOf } from '../config/environment.ts';
import { ConfigError } from '../config/problems.ts';
import { optionRows } from '../config/schema.ts';
import { type Tree, valueAt } from '../config/tree.ts';
import { incidentTypes } from '../model/records.ts';
import { topicsOf } from '../partOptions.ts';
import { readState } from '../state/stateSchema.ts';
import { brokerChecks } from './brokerChecks.ts';
import { type Finding, runChecks } from './checks.ts';
import { type Account, cloudChecks } from './cloudChecks.ts';
import { type Configuration, readConfiguration } from './configuration.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { leave, ownClient } from './ownSession.ts';
import { publicWords } from './publicWords.ts';
import { readPublished } from './published.ts';
import { shownConfiguration } from './shownConfiguration.ts';

/** Somebody waits for the report. A check that has not ended by then is reported so. */
const limitMs = 30_000;

/**
 * `sonic2mqtt diagnostics`: one JSON for a bug report. It holds only what is listed here: numbers, times, choices of ours, and
 * messages reduced to our own words. So it needs to know nothing of what is private.
 */
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
  let configuration: Configuration;
  try {
    configuration = await readConfiguration(context, { level: 'error' });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    print({ ...about, configuration: { problems: error.problems.map(publicWords) } });
    return exitStatus.badUsage;
  }
  const found = await look(configuration, context);
  if (context.signal.aborted) return exitStatus.failed;
  print({ ...about, ...(await reportOn(configuration, found, context)) });
  return exitStatus.done;
}

/** What was found within the time. */
interface Found {
  readonly check: readonly Finding[];
  readonly account: Account;
  /** Null if the broker could not be read. */
  readonly bridge: Tree | null;
}

async function look(configuration: Configuration, context: CommandContext): Promise<Found> {
  const { config } = configuration;
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(limitMs)]);
  const client = ownClient(configuration);
  const account: Account = {};
  let bridge: Tree | null = null;
  const broker = brokerChecks(configuration, 'diagnostics', signal, async (connection) => {
    bridge ??= await readPublished(connection, topicsOf(config));
  });
  const rows = [cloudChecks(config, client, account), ...broker.map((each) => [each])];
  const found = rows.map(async (checks) => {
    const findings: Finding[] = [];
    await runChecks(checks, { progress: () => {}, found: (each) => findings.push(each) }, signal);
    return findings;
  });
  const check = (await Promise.all(found)).flat();
  await leave(client, context.signal);
  return { check, account, bridge };
}

async function reportOn(
  { config, file, warnings }: Configuration,
  found: Found,
  { env }: CommandContext,
): Promise<object> {
  const check = found.check.map((finding) => ({ ...finding, words: publicWords(finding.words) }));
  const files = await keptFiles(config.data_dir);
  return {
    configuration: {
      from: file === null ? 'environment' : 'file and environment',
      variables: [fileVariable, ...optionRows.map(({ path }) => variableOf(path))].filter(
        (name) => name in env,
      ),
      warnings: warnings.map(({ about }) => about),
      values: shownConfiguration(config),
    },
    check,
    counts: countsOf(found.account),
    bridge: found.bridge ?? { words: 'the messages of the bridge could not be read from the broker' },
    data_dir: files,
    last_errors: [
      ...check
        .filter(({ outcome }) => outcome === 'FAIL')
        .map(({ check, words }) => ({ from: `check, ${check}`, words })),
      ...lastErrorsOf(found.bridge),
      ...files.flatMap(({ problem }) =>
        problem === undefined ? [] : [{ from: 'data_dir', words: problem }],
      ),
    ],
  };
}

/** What a running bridge says was wrong. */
function lastErrorsOf(bridge: Tree | null): object[] {
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
function countsOf({ properties, signals, sonics, wifiSonics, openIncidents }: Account): object {
  const byType: Record<string, number> = {};
  for (const { type } of openIncidents ?? []) {
    const name = incidentTypes.find((each) => each === type) ?? 'other';
    byType[name] = (byType[name] ?? 0) + 1;
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

interface KeptFile {
  readonly file?: string;
  readonly problem?: string;
}

/** The state files of the bridge: sizes and numbers, nothing of what is in them. */
async function keptFiles(folder: string): Promise<KeptFile[]> {
  const isOwn = (name: string) => /^(state|ledger(_\d+)?)\.json(\.bak|\.unreadable|\.tmp)*$/.test(name);
  try {
    const names = (await readdir(folder)).filter(isOwn).toSorted();
    return await Promise.all(names.map((name) => describeFile(folder, name)));
  } catch (error) {
    return [{ problem: publicWords(errorMessage(error)) }];
  }
}

async function describeFile(folder: string, file: string): Promise<KeptFile> {
  const path = join(folder, file);
  try {
    const { size, mode, mtime } = await stat(path);
    const { state, damaged } = readState(await readFile(path, 'utf8'));
    const described = {
      file,
      bytes: size,
      mode: (mode & 0o777).toString(8),
      changed_at: mtime.toISOString(),
      damaged,
      has_session: state.session !== null,
      incidents_announced: state.announced.length,
      sonics_with_usage: Object.keys(state.usage).length,
    };
    return described;
  } catch (error) {
    return { file, problem: publicWords(errorMessage(error)) };
  }
}
