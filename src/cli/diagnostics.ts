import { readdir, readFile, stat } from 'node:fs/promises';
import { release, type } from 'node:os';
import { join } from 'node:path';
import { version } from '../base/version.ts';
import { CloudError } from '../cloud/errors.ts';
import { isOperationName } from '../cloud/operations.ts';
import { fileVariable, variableOf } from '../config/environment.ts';
import { ConfigError } from '../config/problems.ts';
import { optionRows } from '../config/schema.ts';
import { incidentTypes } from '../model/records.ts';
import { topicsOf } from '../partOptions.ts';
import { newKept, readSections } from '../state/sections.ts';
import { isStateFile } from '../state/stateFile.ts';
import { accountReport, countEach, readEverything } from './accountReport.ts';
import { brokerChecks } from './brokerChecks.ts';
import { collectFindings, runChecks } from './checks.ts';
import { cloudChecks } from './cloudChecks.ts';
import { type Configuration, readConfiguration } from './configuration.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { ownClient, signOutAndClose, withOwnConnection } from './ownSession.ts';
import { readPublished } from './published.ts';
import type { CheckedAccount } from './readAccount.ts';
import { shownConfiguration } from './shownConfiguration.ts';

/** A person waits for the report. Checks that take longer are reported as unfinished. */
const limitMs = 30_000;

/**
 * The report contains only what is listed here: our own numbers, times and choices, and no messages. So the program need
 * not recognise private data. With `account`, each operation that only reads is called once, too.
 */
export async function diagnostics(
  context: CommandContext,
  { account: isAccountWanted = false }: { readonly account?: boolean } = {},
): Promise<number> {
  const os = `${type()} ${release()}`;
  const program = { version, node: process.version, os, architecture: process.arch };
  const print = (report: object) =>
    context.print(JSON.stringify({ made_at: new Date().toISOString(), program, ...report }, null, 2));
  let configuration: Configuration;
  try {
    configuration = await readConfiguration(context, { level: 'error' });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const problems = error.places.map(({ option, line }) => ({ option, line }));
    print({ configuration: { problems } });
    return exitStatus.badUsage;
  }
  const { config, file, app, warnings } = configuration;
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(limitMs)]);
  const client = ownClient(configuration);
  const account: CheckedAccount = {};
  const broker = brokerChecks(configuration, 'diagnostics', signal);
  const rows = [cloudChecks(config, client, account), ...broker.map((each) => [each])].map(async (checks) => {
    const { findings, report } = collectFindings();
    const error = await runChecks(checks, report, signal);
    return { findings, error };
  });
  const found = await Promise.all(rows);
  const bridge = await withOwnConnection(configuration, 'diagnostics', signal, (connection) =>
    readPublished(connection, topicsOf(config)),
  ).catch(() => null);
  const answers = isAccountWanted ? await readEverything(client, account, signal) : null;
  await signOutAndClose(client, context.signal);
  if (context.signal.aborted) return exitStatus.failed;
  const files = await keptFiles(config.data_dir);
  const variables = [fileVariable, ...optionRows.map(({ path }) => variableOf(path))];
  print({
    configuration: {
      from: [app && 'form', file && 'file', 'environment'].filter(Boolean).join(' and '),
      variables: variables.filter((name) => name in context.env),
      warnings: warnings.map(({ about }) => about),
      values: shownConfiguration(config),
    },
    check: found.flatMap(({ findings }) => findings.map(({ check, outcome }) => ({ check, outcome }))),
    counts: recordCounts(account),
    ...(answers && { account: accountReport(account, answers) }),
    bridge,
    data_dir: files,
    last_errors: [
      ...found
        .filter(({ error }) => error !== null)
        .map(({ findings, error }) => ({ from: `check, ${findings.at(-1)?.check}`, ...errorFields(error) })),
      ...(bridge ? lastErrorsOf(bridge) : []),
      ...files.filter(({ code }) => code !== undefined).map(({ code }) => ({ from: 'data_dir', code })),
    ],
  });
  return exitStatus.done;
}

type Published = Awaited<ReturnType<typeof readPublished>>;

function lastErrorsOf({ health: { status, schedules } }: Published): object[] {
  const failed = Object.entries(schedules).filter(([, { consecutive_failures: count }]) => Boolean(count));
  return [
    ...failed.map(([name, schedule]) => ({ from: `bridge, ${name}`, ...schedule })),
    ...(typeof status === 'string' && status !== 'ok' ? [{ from: 'bridge, health', status }] : []),
  ];
}

/** An error as fields: kinds, names and numbers of this program, of HTTP and of the system. */
function errorFields(error: unknown): object {
  const about = error instanceof CloudError ? error : null;
  const code = codeOf(error);
  return {
    ...(about && { kind: about.kind }),
    ...(about && isOperationName(about.operation) && { operation: about.operation }),
    ...(about?.status !== undefined && { http_status: about.status }),
    ...(about?.timedOut && { timed_out: true }),
    ...(code !== null && { code }),
  };
}

/** The code of the system, of TLS or of MQTT in an error, or in the error that caused it. */
function codeOf(error: unknown): string | number | null {
  if (!(error instanceof Error)) return null;
  const code: unknown = 'code' in error ? error.code : null;
  if (typeof code === 'number' || (typeof code === 'string' && /^[A-Z][A-Z\d_]*$/.test(code))) return code;
  const [first] = error instanceof AggregateError ? error.errors : [error.cause];
  return codeOf(first);
}

function recordCounts({ properties, signals, sonics, wifiSonics, openIncidents }: CheckedAccount): object {
  const lists = { properties, signals, sonics, wifi_sonics: wifiSonics, open_incidents: openIncidents };
  const types = openIncidents?.map(({ type }) => incidentTypes.find((each) => each === type) ?? 'other');
  return {
    ...Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, list?.length ?? null])),
    open_incidents_by_type: countEach(types),
  };
}

type KeptFile = Readonly<Record<string, unknown>>;

/** The state files of the bridge: only sizes and numbers, or the code of an error. */
async function keptFiles(folder: string): Promise<KeptFile[]> {
  try {
    const names = (await readdir(folder)).filter(isStateFile).toSorted();
    return await Promise.all(names.map((name) => describeFile(folder, name)));
  } catch (error) {
    return [{ code: codeOf(error) ?? 'unknown' }];
  }
}

async function describeFile(folder: string, file: string): Promise<KeptFile> {
  const path = join(folder, file);
  try {
    const { size: bytes, mode, mtime: changed_at } = await stat(path);
    const kept = newKept();
    const { damaged } = readSections(kept, await readFile(path, 'utf8'));
    return {
      ...{ file, bytes, mode: (mode & 0o777).toString(8), changed_at, damaged },
      ...{ has_session: kept.session.size > 0, incidents_announced: kept.announced.size },
      ...{ sonics_with_usage: kept.usage.size },
    };
  } catch (error) {
    return { file, code: codeOf(error) ?? 'unknown' };
  }
}
