import { ReasonCodes } from 'mqtt';
import { reasonOf } from '../base/reason.ts';

/** The broker has hung up without a word. */
export const closedWords = 'the connection was closed';

const wordsByCode: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused (is it running, and is the port right?)',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name server does not answer',
  ECONNRESET: 'the connection was reset',
  EPIPE: closedWords,
  ETIMEDOUT: 'no answer',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  4: 'wrong user name or password',
  5: 'not authorized: check mqtt.username and mqtt.password',
  134: 'wrong user name or password',
  135: 'not authorized: check mqtt.username and mqtt.password',
};

const noTlsWords = 'what answers there does not speak TLS (mqtt instead of mqtts, or another port?)';

/** What takes connections and says nothing. */
export const silentWords = 'it takes connections but does not answer';

/** Why a connection is given up after the process was held up. */
export const asleepWords = 'the bridge was held up: what the broker had for it meanwhile comes too late';

const wordsByMessage: Readonly<Record<string, string>> = {
  'connack timeout': silentWords,
  'Keepalive timeout': 'it does not answer any more',
};

const sessionTakenOver = 142;

/** A broker's or a socket's error in words for a log line. */
export function wordsOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return wordsOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  // One code for all that goes wrong with a handshake; the library's text has the reason between numbers and paths.
  if (code === 'EPROTO')
    return error.message.includes('wrong version number') ? noTlsWords : 'the TLS handshake failed';
  return wordsByCode[code] ?? wordsByMessage[error.message] ?? (reasonOf(error) || error.name);
}

/** Why a client failed, in words; what came may be no MQTT, and before any answer it may be something else at all. */
export function wordsOfFailure(error: Error, hasAnswered: boolean): string {
  const { message } = error;
  const isGarbage = !('code' in error || error instanceof AggregateError || message in wordsByMessage);
  if (!isGarbage) return wordsOf(error);
  return hasAnswered
    ? `it does not keep to the protocol: ${message}`
    : `what answers there does not speak MQTT (is the port right?): ${message}`;
}

/** Why the broker ended the connection, as it says with MQTT 5. */
export function wordsOfGoodbye(
  { reasonCode = 0, properties }: { reasonCode?: number; properties?: { reasonString?: string } },
  clientId: string,
): string {
  if (reasonCode === sessionTakenOver) return takenOverWords(clientId);
  const reasons: Readonly<Record<number, string>> = ReasonCodes;
  const name = reasons[reasonCode] || `reason code ${reasonCode}`;
  const { reasonString } = properties ?? {};
  return `the broker ended the connection: ${reasonString ? `${name} (${reasonString})` : name}`;
}

/** Two of a name push each other out, again and again. */
export function takenOverWords(clientId: string): string {
  return `another client has connected with the client id ${clientId}: each needs its own (mqtt.client_id)`;
}

/** Which filters the broker did not take, by the codes of its answer. */
export function refusedFilters(filters: readonly string[], codes: readonly unknown[]): string[] {
  return filters.filter((_, index) => Number(codes[index]) >= 128);
}

/** The same in words. */
export function wordsOfRefusedFilters(
  filters: readonly string[],
  codes: readonly unknown[],
  error: Error,
): string {
  const refused = refusedFilters(filters, codes);
  const [first, second, ...others] = refused.length > 0 ? refused : filters;
  const listed = [first, second].filter(Boolean).join(', ');
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  return `${listed}${more}: ${error.message.replace(/^Subscribe error: /, '')}`;
}
