import { errorMessage } from '../base/errorMessage.ts';
import { connectionMessage, errorCode, noTls, tlsMessage } from '../base/systemErrors.ts';
import { CloudError, type CloudErrorDetails, type CloudErrorKind } from './errors.ts';
import { blockedCode } from './lookUp.ts';

/** The key of all errors of one outage, whether their connection was cut off or they got no answer. */
export const noAnswer = 'no answer';

export function describeFailure(error: unknown, url: URL, wasSent: boolean, operation = ''): CloudError {
  const { hostname, host } = url;
  const code = errorCode(error);
  const said = errorMessage(error);
  const failed = (message: string, details: CloudErrorDetails = {}, kind: CloudErrorKind = 'unavailable') =>
    new CloudError(kind, operation, message, { ...details, mayHaveActed: wasSent, cause: error });

  if (connectionTimeout.has(code)) {
    return failed(`timeout: no connection to ${host}`, { timedOut: true, key: noAnswer });
  }
  if (brokenConnection.test(code)) {
    return failed(`the connection to ${host} broke before the answer was complete`, {
      key: noAnswer,
    });
  }
  if (code === blockedCode)
    return failed(`DNS: a filter in the network blocks ${hostname}. Allow it in the filter`);
  const isDns = code === 'ENOTFOUND' || code.startsWith('EAI_');
  const system = connectionMessage(error, isDns ? hostname : host);
  if (system !== null) return failed(isDns ? `DNS: ${system}` : system);
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const [, names = 'unknown'] = /cert's (?:altnames|CN): (.*)$/.exec(said) ?? [];
    return failed(
      `TLS: another server answers for ${hostname}, with the certificate of ${names.slice(0, 100)}. It may be a filter or a sign-in page of the network`,
    );
  }
  const tls = tlsMessage(error);
  if (tls !== null) return failed(`TLS: ${tls === noTls ? `${tls}. Check cloud.base_url` : tls}`);
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return failed(`the answer from ${host} has too long headers`, {}, 'unreadable');
  }
  if (error instanceof Error && error.name === 'HTTPParserError') {
    return failed(`the answer from ${host} is not HTTP (${said})`, {}, 'unreadable');
  }
  return failed(`no answer from ${host}: ${said}`);
}

const connectionTimeout = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT']);

const brokenConnection = /^(ECONNRESET|EPIPE|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/;
