import type { CloudClient } from '../cloud/client.ts';
import { decoders, knownFields } from '../cloud/decoders.ts';
import { CloudError } from '../cloud/errors.ts';
import {
  type Call,
  type OperationName,
  operationNames,
  operationRow,
  paramNames,
} from '../cloud/operations.ts';
import type { CheckedAccount } from './readAccount.ts';

export interface OperationAnswer {
  readonly operation: OperationName;
  /** The answer as the cloud sent it; undefined if the call failed. */
  readonly sent?: unknown;
  readonly error?: unknown;
}

/** Calls each operation that only reads, once, with the first suitable device of the account. */
export async function readEverything(
  client: CloudClient,
  account: CheckedAccount,
  signal: AbortSignal,
): Promise<OperationAnswer[]> {
  const answers: OperationAnswer[] = [];
  for (const operation of operationNames) {
    const { method, session } = operationRow(operation);
    if (method !== 'GET' || session || !client.isOffered(operation)) continue;
    const params = paramsFor(operation, account, answers);
    if (params === null || signal.aborted) continue;
    try {
      const { sent } = await client.callRaw({ operation, params } as Call, { signal });
      answers.push({ operation, sent: JSON.parse(sent ?? 'null') });
    } catch (error) {
      answers.push({ operation, error });
    }
  }
  return answers;
}

function paramsFor(
  operation: OperationName,
  { properties, signals, sonics, wifiSonics, openIncidents }: CheckedAccount,
  answers: readonly OperationAnswer[],
): Readonly<Record<string, string>> | null {
  const user = Object(answers.find((each) => each.operation === 'read_own_user')?.sent);
  const ids: Readonly<Record<string, unknown>> = {
    property_id: properties?.[0]?.id,
    signal_id: signals?.[0]?.id,
    hub_id: signals?.[0]?.id,
    sonic_id: (operation.includes('wifi') ? wifiSonics : sonics)?.[0]?.id,
    thing_id: sonics?.[0]?.id,
    incident_id: openIncidents?.[0]?.id,
    user_id: user.id ?? user.user_details?.id,
  };
  const params: Record<string, string> = {};
  for (const name of paramNames(operationRow(operation).path)) {
    const id = ids[name];
    if (typeof id !== 'string') return null;
    params[name] = id;
  }
  return params;
}

/** No value of a record is public. Anything that does not look like a version or the name of a field is counted only. */
export function accountReport({ signals }: CheckedAccount, answers: readonly OperationAnswer[]): object {
  const unknown = new Set<string>();
  let withheld = 0;
  for (const [kind, record] of answers.flatMap(recordsIn)) {
    const known = knownFields.get(kind) ?? Object.keys(record);
    for (const field of Object.keys(record)) {
      if (known.includes(field)) continue;
      if (looksLikeField.test(field)) unknown.add(`${kind}.${field}`);
      else withheld += 1;
    }
  }
  return {
    hub_versions: countEach(signals?.map(({ version }) => publicVersion(version))),
    modem_versions: countEach(signals?.map(({ modem_version }) => publicVersion(modem_version))),
    operations: Object.fromEntries(answers.map(({ operation, error }) => [operation, callOutcome(error)])),
    unknown_fields: [...unknown].toSorted(),
    withheld,
  };
}

const looksLikeField = /^(?=.{1,40}$)[a-z]+(_[a-z]+)*$/;

/** Two decimals of a coordinate would name only a region, so a version of two parts has no more. */
const looksLikeVersion = /^\d{1,2}\.(\d{1,2}|\d{1,3}\.\d{1,3})$/;

function publicVersion(version: string | null): string {
  return version !== null && looksLikeVersion.test(version) ? version : 'other';
}

/** The records in an answer, each with the name of its decoder. */
function recordsIn({ operation, sent }: OperationAnswer): (readonly [kind: string, record: object])[] {
  const { reply } = operationRow(operation);
  const [kind = ''] = Object.entries(decoders).find(([, decode]) => decode === reply.decode) ?? [];
  const all: unknown[] = reply.kind === 'page' ? [Object(sent).data].flat() : [sent];
  return all.map((each) => [kind, Object(each)] as const);
}

export function countEach(words: readonly string[] | undefined): Readonly<Record<string, number>> | null {
  if (!words) return null;
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return Object.fromEntries(counts);
}

function callOutcome(error: unknown): object {
  if (error === undefined) return { outcome: 'ok' };
  if (!(error instanceof CloudError)) return { outcome: 'failed' };
  const { kind: outcome, status } = error;
  return status === undefined ? { outcome } : { outcome, http_status: status };
}
