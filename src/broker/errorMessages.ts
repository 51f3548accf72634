import { ReasonCodes } from 'mqtt';
import { errorMessage } from '../base/errorMessage.ts';
import type { Unanswered } from './messageLimit.ts';

/** The broker has closed the connection without a reason. */
export const closedMessage = 'the connection was closed';

const messagesByCode: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused. Check the broker and its port',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name server does not answer',
  ECONNRESET: 'the connection was reset',
  EPIPE: closedMessage,
  ETIMEDOUT: 'no answer',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  4: 'wrong user name or password',
  5: 'not authorized. Check mqtt.username and mqtt.password',
  134: 'wrong user name or password',
  135: 'not authorized. Check mqtt.username and mqtt.password',
};

const noTlsMessage = 'the server does not use TLS. Use mqtt:// or another port';

/** By the reason of OpenSSL. The rest of its errors are numbers and lines of its source code. */
const messagesByTlsReason: readonly (readonly [RegExp, string])[] = [
  [/wrong version number/, noTlsMessage],
  [
    /alert certificate required/,
    'the broker needs a client certificate. Set mqtt.cert_file and mqtt.key_file',
  ],
  [/alert (unknown ca|.*certificate)/, 'the broker rejects the certificate in mqtt.cert_file'],
];

/** The issuer of the broker's certificate is unknown. */
const untrusted = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);

/** Something accepts connections and sends nothing. */
export const silentMessage = 'the server accepts connections but does not answer';

const messagesByMessage: Readonly<Record<string, string>> = {
  'connack timeout': silentMessage,
  'Keepalive timeout': 'the broker does not answer any more',
};

const sessionTakenOver = 142;

/** A broker's or a socket's error in words for a log line. */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return describeError(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_')) return describeTlsError(error);
  if (untrusted.has(code)) return `${errorMessage(error)}. Check mqtt.ca_file`;
  return messagesByCode[code] ?? messagesByMessage[error.message] ?? (errorMessage(error) || error.name);
}

function describeTlsError({ reason, message }: Error & { reason?: unknown }): string {
  const told = typeof reason === 'string' ? reason : message;
  const [, words] = messagesByTlsReason.find(([pattern]) => pattern.test(told)) ?? [];
  return words ?? `the TLS handshake failed: ${told}`;
}

/** Why a client failed, in words; what came may be no MQTT, and before any answer it may be something else at all. */
export function describeFailure(error: Error, hasAnswered: boolean): string {
  const { message } = error;
  const isGarbage = !('code' in error || error instanceof AggregateError || message in messagesByMessage);
  if (!isGarbage) return describeError(error);
  return hasAnswered
    ? `invalid data from the broker: ${message}`
    : `the server does not use MQTT. Check the port (${message})`;
}

/**
 * The broker closed the connection before its first answer: so ends plain MQTT on a port for TLS, TLS on one for plain
 * MQTT, and with some brokers a sign-in with a wrong password. It was asked with MQTT 3.1.1, too.
 */
export function describeUnanswered(words: string): string {
  return `${words} before any answer. Check the port, mqtt:// or mqtts://, and mqtt.username and mqtt.password`;
}

/** The broker closed the connection while it had this large message. */
export function describeTooLarge({ topic, bytes }: Unanswered): string {
  return `the broker closes the connection at ${topic} with ${bytes} bytes. Perhaps it is too large for the broker`;
}

/** Why the broker ended the connection, by its MQTT 5 reason. */
export function describeDisconnect(
  { reasonCode = 0, properties }: { reasonCode?: number; properties?: { reasonString?: string } },
  clientId: string,
): string {
  if (reasonCode === sessionTakenOver) return takenOverMessage(clientId);
  const reasons: Readonly<Record<number, string>> = ReasonCodes;
  const name = reasons[reasonCode] || `reason code ${reasonCode}`;
  const { reasonString } = properties ?? {};
  return `the broker closed the connection: ${reasonString ? `${name} (${reasonString})` : name}`;
}

/** Two of a name push each other out, again and again. */
export function takenOverMessage(clientId: string): string {
  return `another client uses the client ID ${clientId}. Change mqtt.client_id`;
}

/** Filters that the broker has refused, and why. */
export interface RefusedFilters {
  readonly filters: readonly string[];
  readonly reason: string;
}

/** What the broker has refused, by the codes of its answer. Without any codes it is all. */
export function refusedFilters(
  filters: readonly string[],
  codes: readonly unknown[],
  error: Error,
): RefusedFilters {
  const refused = filters.filter((_, index) => codes.length === 0 || Number(codes[index]) >= 128);
  return { filters: refused, reason: error.message.replace(/^Subscribe error: /, '') };
}

/** The same in words. */
export function describeRefusedFilters({ filters, reason }: RefusedFilters): string {
  const [first, second, ...others] = filters;
  const listed = [first, second].filter(Boolean).join(', ');
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  return `${listed}${more}: ${reason}`;
}
