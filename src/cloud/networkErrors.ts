import { errorMessage } from '../base/errorMessage.ts';
import { connectionMessage, errorCode, noTls, tlsMessage } from '../base/systemErrors.ts';
import { CloudError, type CloudErrorDetails, type CloudErrorKind } from './errors.ts';
import { blockedCode } from './lookUp.ts';

/** The key of all errors of one outage, whether their connection was cut off or they got no answer. */
export const noAnswer = 'no answer';

/** The way to the cloud: its address, and the proxy in between if there is one. */
export interface Way {
  readonly url: URL;
  readonly proxy: URL | null;
}

export function otherEndOf({ url, proxy }: Way): string {
  return proxy ? `${url.host} through the proxy ${proxy.host}` : url.host;
}

export function describeFailure(error: unknown, way: Way, wasSent: boolean, operation = ''): CloudError {
  const { url, proxy } = way;
  // With a proxy, TCP connects to the proxy, so DNS and TCP errors are about the proxy.
  const { hostname, host } = proxy ?? url;
  const code = errorCode(error);
  const said = errorMessage(error);
  const failed = (message: string, details: CloudErrorDetails = {}, kind: CloudErrorKind = 'unavailable') =>
    new CloudError(kind, operation, message, { ...details, mayHaveActed: wasSent, cause: error });

  if (connectionTimeout.has(code)) {
    return failed(`timeout: no connection to ${otherEndOf(way)}`, { timedOut: true, key: noAnswer });
  }
  if (brokenConnection.test(code)) {
    return failed(`the connection to ${otherEndOf(way)} broke before the answer was complete`, {
      key: noAnswer,
    });
  }
  if (code === blockedCode)
    return failed(`DNS: a filter in the network blocks ${hostname}. Allow it in the filter`);
  const isDns = code === 'ENOTFOUND' || code.startsWith('EAI_');
  const system = connectionMessage(error, isDns ? hostname : host);
  if (system !== null) return failed(isDns ? `DNS: ${system}` : system);
  const refusal = proxy && /^Proxy response \((\d+)\)/.exec(said);
  if (refusal) {
    return failed(`the proxy ${host} rejects the connection to ${url.host} (status ${refusal[1]})`);
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const [, names = 'unknown'] = /cert's (?:altnames|CN): (.*)$/.exec(said) ?? [];
    return failed(
      `TLS: another server answers for ${hostname}, with the certificate of ${names.slice(0, 100)}. It may be a filter or a sign-in page of the network`,
    );
  }
  const tls = tlsMessage(error);
  if (tls !== null) return failed(`TLS: ${tls === noTls ? `${tls}. Check cloud.base_url` : tls}`);
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return failed(`the answer from ${url.host} has too long headers`, {}, 'unreadable');
  }
  if (error instanceof Error && error.name === 'HTTPParserError') {
    return failed(`the answer from ${url.host} is not HTTP (${said})`, {}, 'unreadable');
  }
  return failed(`no answer from ${otherEndOf(way)}: ${said}`);
}

// A proxy that does not reach the cloud within the connect timeout is a headers timeout for undici.
const connectionTimeout = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'ETIMEDOUT']);

const brokenConnection = /^(ECONNRESET|EPIPE|UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/;
