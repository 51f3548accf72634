import { ReasonCodes } from 'mqtt';
import { errorMessage } from '../base/errorMessage.ts';
import { connectionMessage, errorCode, isUntrusted, noTls, tlsMessage } from '../base/systemErrors.ts';

const wrongUser = 'wrong user name or password';
const notAuthorized = 'not authorized. Check mqtt.username and mqtt.password';

/** The messages for the codes with which a broker refuses a connection, in MQTT 3.1.1 and MQTT 5. */
const messagesByCode: Readonly<Record<string, string>> = {
  4: wrongUser,
  5: notAuthorized,
  134: wrongUser,
  135: notAuthorized,
};

/** The messages for a TLS handshake that the broker has ended, by OpenSSL's reason. */
const messagesByAlert: readonly (readonly [RegExp, string])[] = [
  [
    /alert certificate required/,
    'the broker needs a client certificate. Set mqtt.cert_file and mqtt.key_file',
  ],
  [/alert (unknown ca|.*certificate)/, 'the broker rejects the certificate in mqtt.cert_file'],
];

export const lostMessage = 'the broker does not answer any more';
export const silentMessage = 'the server accepts connections but does not answer';

const messagesByMessage: Readonly<Record<string, string>> = {
  'connack timeout': silentMessage,
  'Keepalive timeout': lostMessage,
};

const sessionTakenOver = 142;

interface Disconnect {
  readonly reasonCode?: number;
  readonly properties?: { readonly reasonString?: string };
}

export function describeError(error: unknown): string {
  const code = errorCode(error);
  const tls = tlsMessage(error);
  if (tls === noTls) return `${tls}. Use mqtt:// or another port`;
  // Most often the server leaves out the certificate between its own and the authority's.
  if (code === 'UNABLE_TO_VERIFY_LEAF_SIGNATURE')
    return 'the broker does not send its whole certificate chain, or mqtt.ca_file is not its authority';
  if (isUntrusted(error)) return `${tls}. Check mqtt.ca_file`;
  // Other codes mean that the certificate is for another host or has expired. Then the handshake itself did not fail.
  if (tls !== null && /^(EPROTO$|ERR_SSL_)/.test(code)) {
    const [, message = `the TLS handshake failed: ${tls}`] =
      messagesByAlert.find(([pattern]) => pattern.test(tls)) ?? [];
    return message;
  }
  const system = connectionMessage(error);
  if (code === 'ECONNREFUSED') return `${system}. Check the broker and its port`;
  const message = errorMessage(error);
  // The broker's answer to CONNECT, which has nothing to do with a port that is closed.
  const refusal = message.startsWith('Connection refused: ')
    ? `the broker rejects the connection: ${reasonOf(code)}`
    : null;
  return (
    system ?? messagesByCode[code] ?? refusal ?? messagesByMessage[message] ?? (message || String(error))
  );
}

/** Invalid data may mean that the server is no MQTT broker, if it has not answered in MQTT before. */
export function describeClientError(error: Error, hasAnswered: boolean): string {
  const { message } = error;
  const [, status] = /^Unexpected server response: (\d+)$/.exec(message) ?? [];
  if (status !== undefined) return describeUpgrade(Number(status));
  const isGarbage = !('code' in error || error instanceof AggregateError || message in messagesByMessage);
  if (!isGarbage) return describeError(error);
  return hasAnswered
    ? `invalid data from the broker: ${message}`
    : `the server does not use MQTT. Check the port (${message})`;
}

/** The server, or a proxy before it, has answered the request for a WebSocket with this status. */
function describeUpgrade(status: number): string {
  if (status >= 300 && status < 400)
    return `the server redirects to another address (HTTP ${status}). Enter that address in mqtt.url`;
  if (status === 401 || status === 403)
    return `the server does not permit the WebSocket (HTTP ${status}). A proxy may want a sign-in`;
  if (status >= 500)
    return `the server has a fault (HTTP ${status}). Check the broker, and the proxy before it`;
  return `the server has no WebSocket for MQTT at this path (HTTP ${status}). Check the path and the port in mqtt.url`;
}

/**
 * The broker closed the connection before its first answer, also with MQTT 3.1.1. That happens with plain MQTT on a port for
 * TLS, with TLS on a port for plain MQTT, and with some brokers if the password is wrong.
 */
export function describeUnanswered(reason: string, url: string): string {
  const address = /^ws/i.test(url) ? 'the port and path, ws:// or wss://' : 'the port, mqtt:// or mqtts://';
  return `${reason} before any answer. Check ${address}, and mqtt.username and mqtt.password`;
}

export function describeDisconnect({ reasonCode = 0, properties }: Disconnect): string {
  const { reasonString } = properties ?? {};
  const reason = reasonCode === 0 ? 'no reason given' : reasonOf(reasonCode);
  return `the broker closed the connection: ${reasonString ? `${reason} (${reasonString})` : reason}`;
}

function reasonOf(code: number | string): string {
  const reasons: Readonly<Record<string, string>> = ReasonCodes;
  return reasons[code] || `reason code ${code}`;
}

/** Whether the broker has given the client's ID to a newer connection. Mosquitto says so from 2.0.15 on. */
export function isTakenOver({ reasonCode }: Disconnect): boolean {
  return reasonCode === sessionTakenOver;
}

/** The client ID is made from the base topic, so the broker keeps one bridge for each. */
export function takenOverMessage(baseTopic: string): string {
  return `another sonic2mqtt uses the base topic ${baseTopic}. Stop one of the two, or give it its own mqtt.base_topic`;
}

export interface RefusedFilters {
  readonly filters: readonly string[];
  readonly reason: string;
}

/** The filters that the broker has refused, by the codes in its answer; all filters if the answer has no codes. */
export function refusedFilters(
  filters: readonly string[],
  codes: readonly unknown[],
  error: Error,
): RefusedFilters {
  const refused = filters.filter((_, index) => codes.length === 0 || Number(codes[index]) >= 128);
  return { filters: refused, reason: error.message.replace(/^Subscribe error: /, '') };
}

export function describeRefusedFilters({ filters, reason }: RefusedFilters): string {
  const [first, second, ...others] = filters;
  const listed = [first, second].filter(Boolean).join(', ');
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  return `${listed}${more}: ${reason}`;
}
