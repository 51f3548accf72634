import { version } from '../base/version.ts';
import type { CloudClient } from '../cloud/client.ts';
import { decoders, knownRecords } from '../cloud/decoders.ts';
import { CloudError } from '../cloud/errors.ts';
import {
  type Call,
  type OperationName,
  operationNames,
  operationRow,
  paramNames,
} from '../cloud/operations.ts';
import { incidentTypes } from '../model/records.ts';
import { knownWord } from '../model/words.ts';
import type { CheckedAccount } from './cloudChecks.ts';

/** The answer of the cloud to one operation. */
interface OperationAnswer {
  readonly operation: OperationName;
  /** The answer as the cloud sent it; undefined if the call failed. */
  readonly sent?: unknown;
  readonly error?: unknown;
}

/** The time limit of all reads together, in ms, because a person waits for the report. */
const limitMs = 30_000;

/** Calls each operation that only reads, once, with the first suitable device of the account. */
export async function readEverything(
  client: CloudClient,
  account: CheckedAccount,
  stopping: AbortSignal,
): Promise<OperationAnswer[]> {
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(limitMs)]);
  const answers: OperationAnswer[] = [];
  for (const operation of operationNames) {
    const { method, session } = operationRow(operation);
    if (method !== 'GET' || session || !client.isOffered(operation)) continue;
    const params = paramsFor(operation, account, answers);
    if (params === null || stopping.aborted) continue;
    try {
      const { sent } = await client.callRaw({ operation, params } as Call, { signal });
      answers.push({ operation, sent });
    } catch (error) {
      answers.push({ operation, error });
    }
  }
  return answers;
}

/** The parameters of an operation; null if the account has nothing that fits. */
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

/**
 * The report for the public: versions, numbers, and the names of fields and the words that the program does not know.
 * It must contain nothing private. So a field, a word or a version must look like one. It must also be part of no other
 * text of the account, and of no text in `own`, which the user has written into the configuration.
 */
export function foundReport(
  account: CheckedAccount,
  answers: readonly OperationAnswer[],
  own: readonly (string | null)[],
): object {
  const { properties, signals, sonics, wifiSonics, openIncidents } = account;
  const records: readonly KindOfRecord[] = [
    ...[...(properties ?? [])].map((record) => ['property', record] as const),
    ...[...(signals ?? [])].map((record) => ['signal', record] as const),
    ...[...(sonics ?? []), ...(wifiSonics ?? [])].map((record) => ['sonic', record] as const),
    ...[...(openIncidents ?? [])].map((record) => ['incident', record] as const),
    ...answers.flatMap(recordsIn),
  ];
  const isPublic = publicTexts([
    ...records.flatMap(([kind, record]) => textsIn(record, kind)),
    ...textsIn(own),
  ]);
  const unknown = { fields: new Set<string>(), words: new Set<string>() };
  let withheld = 0;
  const note = (set: Set<string>, place: string, word: string) => {
    if (isPublic(word)) set.add(place);
    else withheld += 1;
  };
  for (const [kind, record] of records) {
    const known = knownRecords.get(kind);
    if (!known) continue;
    for (const [field, value] of Object.entries(record)) {
      if (!known.fields.includes(field)) note(unknown.fields, `${kind}.${field}`, field);
      const words = known.words[field];
      if (words && typeof value === 'string' && knownWord(words, value) === null) {
        note(unknown.words, `${kind}.${field}: ${value}`, value);
      }
    }
  }
  const versionsOf = (field: (typeof versions)[number]) =>
    countEach(signals?.map(({ [field]: held }) => (held !== null && isPublic(held) ? held : 'other')));
  return {
    program: { version, node: process.version, architecture: process.arch },
    counts: {
      properties: properties?.length ?? null,
      hubs: signals?.length ?? null,
      valves: sonics?.length ?? null,
      wifi_valves: wifiSonics?.length ?? null,
      open_incidents: countEach(
        openIncidents?.map(({ type }) => incidentTypes.find((each) => each === type) ?? 'other'),
      ),
    },
    hub_versions: versionsOf('version'),
    modem_versions: versionsOf('modem_version'),
    operations: Object.fromEntries(answers.map(({ operation, error }) => [operation, callOutcome(error)])),
    unknown_fields: [...unknown.fields].toSorted(),
    unknown_words: [...unknown.words].toSorted(),
    withheld,
  };
}

type KindOfRecord = readonly [kind: string, record: object];

/** The records in an answer, each with the name of its decoder. */
function recordsIn({ operation, sent }: OperationAnswer): KindOfRecord[] {
  const { reply } = operationRow(operation);
  const [kind = ''] = Object.entries(decoders).find(([, decode]) => decode === reply.decode) ?? [];
  const all: unknown[] = reply.kind === 'page' ? [Object(sent).data].flat() : [sent];
  return all.flatMap((each) => (typeof each === 'object' && each !== null ? [[kind, each] as const] : []));
}

/** Every text in a value, except versions and words that the report may show. */
function textsIn(value: unknown, kind = ''): string[] {
  if (typeof value === 'string' || typeof value === 'number') return [String(value).toLowerCase()];
  if (typeof value !== 'object' || value === null) return [];
  const shown = [...Object.keys(knownRecords.get(kind)?.words ?? {}), ...(kind === 'signal' ? versions : [])];
  return Object.entries(value).flatMap(([field, held]) => (shown.includes(field) ? [] : textsIn(held)));
}

const versions = ['version', 'modem_version'] as const;

const partsOf = (text: string) => text.split(/[^\p{L}\d]+/u);

/**
 * Parts of the fields and words that the program knows. They reveal nothing about the owner, even if a valve has such a
 * name.
 */
const vocabulary = new Set(
  [...knownRecords.values()].flatMap(({ fields, words }) =>
    [...fields, ...Object.values(words).flat()].flatMap((each) => each.split(/[_+]/)),
  ),
);

/**
 * Returns whether a text is a field, word or version of the cloud: it looks like one, and no part of it is in a private
 * text.
 */
function publicTexts(privateTexts: readonly string[]): (text: string) => boolean {
  const whole = new Set(privateTexts.flatMap((text) => [text, partsOf(text).join('_')]));
  const parts = new Set(privateTexts.flatMap(partsOf));
  const isPrivate = (part: string) => parts.has(part) && !vocabulary.has(part);
  const looksHarmless = /^(?=.{1,40}$)[a-z]+([_+][a-z]+)*$|^\d{1,2}\.\d{1,3}(\.\d{1,3})?$/;
  return (text) => looksHarmless.test(text) && !whole.has(text) && !text.split(/[_+]/).some(isPrivate);
}

function countEach(words: readonly string[] | undefined): Readonly<Record<string, number>> | null {
  if (!words) return null;
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return Object.fromEntries(counts);
}

/** How a call has ended, without any text of the cloud. */
function callOutcome(error: unknown): object {
  if (error === undefined) return { outcome: 'ok' };
  const about = error instanceof CloudError ? error : null;
  return {
    outcome: about?.kind ?? 'failed',
    ...(about?.status !== undefined && { http_status: about.status }),
  };
}
