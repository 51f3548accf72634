import { errorMessage, firstError } from './errorMessage.ts';

// Messages for people about errors of the system and of the TLS library. The same fault has the same message
// everywhere. The caller knows what was tried, and adds what to do about it.

/** For a connection that the other end has closed without a reason. */
export const closedMessage = 'the connection was closed';

const noSuchFile = 'there is no such file';
const noPermission = 'permission denied';
const noRoute = 'no route to the host';

const fileMessages: Readonly<Record<string, string>> = {
  ENOENT: noSuchFile,
  ENOTDIR: noSuchFile,
  EACCES: noPermission,
  EPERM: noPermission,
  EISDIR: 'it is a folder',
};

/** Each message with the word before the host, which is used if the message names the host. */
const connectionMessages: Readonly<Record<string, readonly [message: string, link?: string]>> = {
  ECONNREFUSED: ['connection refused', 'by '],
  ENOTFOUND: ['no such host'],
  EAI_AGAIN: ['the name server does not answer', 'for '],
  EHOSTUNREACH: [noRoute],
  ENETUNREACH: [noRoute],
  ECONNRESET: ['the connection was reset', 'by '],
  EPIPE: [closedMessage, 'by '],
  ETIMEDOUT: ['no answer', 'from '],
};

/** For a server that uses plain HTTP or MQTT. */
export const noTls = 'the server does not use TLS';

const oldTls = 'the server offers only TLS 1.1 or older, which is not secure';

/** The code of an error, for example ENOENT; empty if it has none. */
export function errorCode(error: unknown): string {
  const first = firstError(error);
  return first instanceof Error && 'code' in first ? String(first.code) : '';
}

export function fileMessage(error: unknown): string {
  const code = errorCode(error);
  return fileMessages[code] ?? (code || String(error));
}

/** Why a connection failed or ended, with the host if it is given; null if it is no such error of the system. */
export function connectionMessage(error: unknown, host?: string): string | null {
  const code = errorCode(error);
  const [message, link = ''] = connectionMessages[code.startsWith('EAI_') ? 'EAI_AGAIN' : code] ?? [];
  if (message === undefined) return null;
  return host === undefined ? message : `${message} ${link}${host}`;
}

/** Whether a certificate is not trusted, because its issuer is unknown. */
export function isUntrusted(error: unknown): boolean {
  return /SELF_SIGNED_CERT|^UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)/.test(errorCode(error));
}

/** Messages for what a library says in words of its own. */
const tlsMessages: Readonly<Record<string, string>> = {
  // Most often the server leaves out the certificate between its own and the authority's.
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'the server does not send its whole certificate chain, or its authority is unknown',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: oldTls,
  ERR_SSL_UNSUPPORTED_PROTOCOL: oldTls,
};

/** Why TLS or a certificate failed; null if neither did. */
export function tlsMessage(error: unknown): string | null {
  const code = errorCode(error);
  const isTls = /^(EPROTO$|ERR_TLS_|ERR_SSL_|CERT_|INVALID_CA$)/.test(code);
  if (!isTls && !isUntrusted(error)) return null;
  if (tlsMessages[code] !== undefined) return tlsMessages[code];
  const first = firstError(error);
  // OpenSSL's own reason, without the line of its source code around it. While writing, only the text has it.
  const reason = first instanceof Error && 'reason' in first ? first.reason : null;
  const [, written] = /:SSL routines:[^:]*:([^:]+):/.exec(errorMessage(error)) ?? [];
  const message = typeof reason === 'string' ? reason : (written ?? errorMessage(error));
  // OpenSSL takes plain HTTP or MQTT for a version number.
  if (message.includes('wrong version number')) return noTls;
  // The version before an alert's name is that of OpenSSL's table, which changes, and not that of the connection.
  return message.replace(/^(?:sslv3|tlsv1|ssl\/tls) /, '');
}

export function listenMessage(error: unknown, host: string, port: number): string {
  switch (errorCode(error)) {
    case 'EADDRINUSE':
      return `port ${port} of ${host} is in use by another program`;
    case 'EADDRNOTAVAIL':
      return `${host} is not an address of this computer`;
    case 'EACCES':
      return `port ${port} needs more rights. Choose one above 1023`;
    case 'EAFNOSUPPORT':
      return `this computer has no address of the kind of ${host}`;
    default:
      return connectionMessage(error, host) ?? errorMessage(error);
  }
}
