import { errorMessage } from '../base/errorMessage.ts';

/** Why a request got no answer, or not all of one; its message is a sentence for people. */
export class NetworkError extends Error {
  readonly kind: 'unavailable' | 'unreadable';
  /** Whether the cloud may have acted on the request; false only where nothing was sent. */
  readonly mayHaveActed: boolean;
  readonly timedOut: boolean;
  /** The message without what differs within one outage, which may cut off some requests and leave others hanging. */
  readonly gist: string;

  constructor(
    message: string,
    details: {
      kind?: 'unreadable';
      mayHaveActed: boolean;
      timedOut?: boolean;
      isCutOff?: boolean;
      cause?: unknown;
    },
  ) {
    super(message, { cause: details.cause });
    this.name = 'NetworkError';
    this.kind = details.kind ?? 'unavailable';
    this.mayHaveActed = details.mayHaveActed;
    this.timedOut = details.timedOut ?? false;
    this.gist = this.timedOut || details.isCutOff ? 'no answer' : message;
  }
}

/** The way to the cloud: its address, and the proxy in between if there is one. */
export interface Way {
  readonly url: URL;
  readonly proxy: URL | null;
}

/** The other end in words. */
export function nameOf({ url, proxy }: Way): string {
  return proxy ? `${url.host} through the proxy ${proxy.host}` : url.host;
}

/** Puts a failure of the network in words: DNS, refused, TLS, timeout and a broken connection told apart. */
export function describeFailure(error: unknown, way: Way, wasSent: boolean): NetworkError {
  const { url, proxy } = way;
  // TCP connections lead to the proxy if there is one.
  const { hostname, host } = proxy ?? url;
  const { name, code, message, reason } = detailsOf(error);
  const mayHaveActed = wasSent;
  const noAnswer = (words: string) => new NetworkError(words, { mayHaveActed, cause: error });

  if (code === 'ENOTFOUND') return noAnswer(`DNS: no such host ${hostname}`);
  if (code.startsWith('EAI_')) return noAnswer(`DNS: cannot look up ${hostname} (${code})`);
  if (code === 'ECONNREFUSED') return noAnswer(`connection refused by ${host}`);
  if (code === 'EHOSTUNREACH' || code === 'ENETUNREACH') return noAnswer(`no route to ${host} (${code})`);
  if (connectionTimeout.has(code)) {
    return new NetworkError(`timeout: no connection to ${nameOf(way)}`, {
      mayHaveActed,
      timedOut: true,
      cause: error,
    });
  }
  const refusal = proxy && /^Proxy response \((\d+)\)/.exec(message);
  if (refusal)
    return noAnswer(`the proxy ${host} rejects the connection to ${url.host} (status ${refusal[1]})`);
  if (isTls(code)) return noAnswer(`TLS: ${wordsOfTls(reason ?? message, url)}`);
  if (name === 'HTTPParserError') {
    const words = `the answer from ${url.host} is not HTTP (${message})`;
    return new NetworkError(words, { kind: 'unreadable', mayHaveActed, cause: error });
  }
  if (brokenConnection.has(code)) {
    const words = `the connection to ${nameOf(way)} broke before the answer was complete`;
    return new NetworkError(words, { mayHaveActed, isCutOff: true, cause: error });
  }
  return noAnswer(`no answer from ${nameOf(way)}: ${message}`);
}

// The proxy has the time of a connection to make its own.
const connectionTimeout = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'ETIMEDOUT']);

const brokenConnection = new Set([
  'ECONNRESET',
  'EPIPE',
  'UND_ERR_SOCKET',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
]);

const certificateFaults = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'INVALID_CA',
]);

/** What is plain HTTP, or no HTTP at all, is a number of a version to OpenSSL. */
function wordsOfTls(reason: string, { host }: URL): string {
  return reason === 'wrong version number'
    ? `the server at ${host} does not use TLS. Check cloud.base_url`
    : reason;
}

function isTls(code: string): boolean {
  return /^(ERR_TLS_|ERR_SSL_|CERT_|EPROTO$)/.test(code) || certificateFaults.has(code);
}

/** What is needed of an error; of several (one per address of a host) the first speaks for all. */
function detailsOf(error: unknown) {
  const first: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  if (!(first instanceof Error)) return { name: '', code: '', message: String(first), reason: undefined };
  const { code, reason } = first as Error & { code?: unknown; reason?: unknown };
  return {
    name: first.name,
    code: typeof code === 'string' ? code : '',
    message: errorMessage(first),
    // OpenSSL's own words; the message around them is a line of its source code.
    reason: typeof reason === 'string' ? reason : undefined,
  };
}
