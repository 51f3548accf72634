import { mapTexts, parseExact, writeExact } from '../base/exactJson.ts';
import { isTooDeeplyNested } from '../base/nesting.ts';
import type { Secrets } from '../base/secrets.ts';
import { readEnvelope } from './decoders.ts';
import { CloudError, type CloudErrorKind } from './errors.ts';
import type { HttpResponse } from './http.ts';
import { oneLine } from './oneLine.ts';
import { type AnyOperation, type OperationName, operationRow } from './operations.ts';
import { retryAfterOf } from './retry.ts';

/** A number is null if the cloud did not send it. */
export interface Page<T> {
  readonly records: readonly T[];
  /** How many records could not be used. */
  readonly dropped: number;
  /** How many of them are missed: without them, the list is not complete. */
  readonly missing: number;
  readonly page_number: number | null;
  readonly page_size: number | null;
  readonly total_entries: number | null;
  readonly total_pages: number | null;
}

export interface GoodAnswer {
  /** With every known field: the record, a `Page`, or null if a change was done and the answer has no record. */
  readonly reply: unknown;
  /** The answer as JSON, as the cloud sent it; null if it was empty. */
  readonly sent: string | null;
}

export type Report = (level: 'info' | 'warn', notice: string) => void;

const meanings: Readonly<Record<number, readonly [CloudErrorKind, string]>> = {
  401: ['auth', 'the session is not valid'],
  403: ['forbidden', 'not permitted'],
  404: ['notFound', 'not found'],
  // This vendor documents 405 as a missing membership.
  405: ['forbidden', 'not allowed'],
  408: ['unavailable', 'request timeout'],
  409: ['rejected', 'conflict'],
  412: ['rejected', 'a condition is not met'],
  422: ['rejected', 'the values are not accepted'],
  429: ['rateLimited', 'too many requests'],
};

/** Null for success. A message in the body is passed on, with secrets hidden. */
export function checkStatus(
  name: OperationName,
  answer: HttpResponse,
  nowMs: number,
  hide: (text: string) => string,
): CloudError | null {
  const { status } = answer;
  if (status < 300) return null;
  if (status < 400) {
    const target = oneLine(hide(answer.header('location') ?? 'nowhere'));
    const key = `the cloud answered ${status}, a redirect`;
    return new CloudError('unreadable', name, `${key} to ${target}`, { status, key });
  }
  const [kind, meaning] =
    meanings[status] ?? (status < 500 ? ['rejected', 'not accepted'] : ['unavailable', 'server error']);
  const text = bodyText(answer);
  const body = parseJson(text, hide)?.value;
  // A body that is not JSON may be a web page, whose text does not fit into a line.
  const isPlain = status < 500 && !/^\s*</.test(text);
  const said = body !== undefined ? messageIn(body) : isPlain ? oneLine(hide(withoutStop(text))) : '';
  const message = `the cloud answered ${status} (${meaning})`;
  const whole = said && said.toLowerCase() !== meaning ? `${message}: ${said}` : message;
  return new CloudError(kind, name, whole, {
    status,
    // During an outage the status can change from one answer to the next, so the key leaves it out.
    key: status < 500 ? message : meaning,
    retryAfterMs: retryAfterOf(answer, nowMs) ?? undefined,
    mayHaveActed: kind === 'unavailable',
    isJson: typeof body === 'object' && body !== null,
    said: body === undefined ? '' : said,
  });
}

/**
 * Throws `unreadable` if the answer has another format. Secrets are hidden in the error and in the answer, since both are
 * published. Only the token in the answer of a session operation stays readable.
 */
export function readAnswer(
  name: OperationName,
  answer: HttpResponse,
  report: Report,
  secrets: Pick<Secrets, 'hide' | 'hideInData'>,
): GoodAnswer {
  const { reply, session, control } = operationRow(name);
  const hide = (text: string) => secrets.hide(text);
  const isDone = reply.kind === 'acknowledgement' || control !== undefined;
  if (answer.bodyProblem && !isDone) throw answer.bodyProblem;
  const text = answer.bodyProblem ? '' : bodyText(answer);
  const whole = parseJson(text, session ? undefined : (each) => secrets.hideInData(each));
  // A success status means that the change was done, whatever the body is: none (204), or an unknown one.
  if (isDone) {
    const sent = whole?.text ?? (text.trim() === '' ? null : JSON.stringify(hide(text)));
    const read = reply.decode(whole?.value);
    if (read.ok) for (const notice of read.notices) report('info', notice);
    return { reply: read.ok ? read.value : null, sent };
  }
  const { status } = answer;
  const unreadable = (what: string, detail = '') => {
    const key = `the cloud's answer ${what}`;
    return new CloudError('unreadable', name, detail ? `${key}: ${detail}` : key, { status, key });
  };
  if (!whole) {
    if (text.trim() === '') throw unreadable('is empty');
    // The answer may hold a token that is not registered as a secret yet.
    throw unreadable('is not JSON', session ? '' : oneLine(hide(text)));
  }
  if (reply.kind === 'page') {
    const page = readPage(reply.decode, whole.value, report);
    if (typeof page === 'string') throw unreadable('has an unexpected format', page);
    return { reply: page, sent: whole.text };
  }
  const { part } = reply;
  const read = reply.decode(part === undefined ? whole.value : partOf(whole.value, part));
  if (!read.ok) throw unreadable('has an unexpected format', hide(read.message));
  for (const notice of read.notices) report('info', notice);
  const sent = part === undefined ? whole.text : writeExact(partOf(parseExact(whole.text), part));
  return { reply: read.value, sent };
}

function partOf(whole: unknown, part: string): unknown {
  return new Map(Object.entries(Object(whole))).get(part);
}

const utf8 = new TextDecoder();

function bodyText({ body }: HttpResponse): string {
  return utf8.decode(body);
}

const maxRecordsOfPage = 10_000;
const maxReportedOfPage = 20;

function readPage(
  readRecord: AnyOperation['reply']['decode'],
  body: unknown,
  report: Report,
): Page<unknown> | string {
  const envelope = readEnvelope(body);
  if (!envelope.ok) return envelope.message;
  const given = envelope.value.data.length;
  if (given > maxRecordsOfPage) return `it has ${given} records. The maximum is ${maxRecordsOfPage}`;
  for (const notice of envelope.notices) report('info', notice);
  const records: unknown[] = [];
  let missing = 0;
  let dropped = 0;
  for (const each of envelope.value.data) {
    const read = readRecord(each);
    if (read.ok) {
      records.push(read.value);
      for (const notice of read.notices) report('info', notice);
    } else {
      if (!read.isLeftOut) missing++;
      dropped++;
      if (dropped <= maxReportedOfPage) report('warn', `a record was skipped: ${read.message}`);
    }
  }
  const { page_number, page_size, total_entries, total_pages } = envelope.value;
  return { records, dropped, missing, page_number, page_size, total_entries, total_pages };
}

/** Keys under which services put their error messages, the plainest first. */
const messageKeys = [
  'message',
  'detail',
  'error',
  'error_description',
  'description',
  'msg',
  'reason',
  'title',
];
const maxMessages = 5;

/** The messages in any usual shape: `message`, `errors[].detail`, `errors.{field}[]`. */
function messageIn(body: unknown): string {
  if (isTooDeeplyNested(body)) return '';
  return oneLine([...new Set(messagesIn(body))].slice(0, maxMessages).join('. '));
}

/** Messages end without a full stop, because others go on. */
function withoutStop(text: string): string {
  return text.trim().replace(/(?<!\.)\.$/, '');
}

function messagesIn(said: unknown): string[] {
  if (typeof said === 'string') return said.trim() === '' ? [] : [withoutStop(said)];
  if (Array.isArray(said)) return said.flatMap(messagesIn);
  if (typeof said !== 'object' || said === null) return [];
  const fields: ReadonlyMap<string, unknown> = new Map(Object.entries(said));
  const plain = messageKeys.map((key) => messagesIn(fields.get(key))).find(({ length }) => length > 0) ?? [];
  const errors = fields.get('errors');
  if (Object(errors) !== errors || Array.isArray(errors)) return [...plain, ...messagesIn(errors)];
  const ofField = ([field, each]: [string, unknown]) => messagesIn(each).map((text) => `${field}: ${text}`);
  return [...plain, ...Object.entries(Object(errors)).flatMap(ofField)];
}

/**
 * Reads a JSON text, with whole characters only and without secrets; undefined if it is not JSON. Home Assistant
 * rejects JSON with half of a surrogate pair, which only an escape can be. An escape can also hide a secret.
 */
function parseJson(text: string, hide = (each: string) => each) {
  try {
    const value: unknown = JSON.parse(text);
    const hasSecret = hide(text) !== text;
    if (!hasSecret && !/\\[u/]/.test(text)) return { text, value };
    const clean = mapTexts(text, (token) =>
      hasSecret || token.includes('\\')
        ? JSON.stringify(hide(Buffer.from(JSON.parse(token), 'utf8').toString('utf8')))
        : token,
    );
    return { text: clean, value: JSON.parse(clean) };
  } catch {
    return undefined;
  }
}
