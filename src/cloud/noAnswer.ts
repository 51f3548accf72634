import { reasonOf } from '../base/reason.ts';

/** Why a request got no answer, or not all of one; its message is a sentence for people. */
export class NoAnswer extends Error {
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
    this.name = 'NoAnswer';
    this.kind = details.kind ?? 'unavailable';
    this.mayHaveActed = details.mayHaveActed;
    this.timedOut = details.timedOut ?? false;
    this.gist = this.timedOut || details.isCutOff ? 'no answer' : message;
  }
}

/** Puts a failure of the network in words: DNS, refused, TLS, timeout and a broken connection told apart. */
export function describeFailure(error: unknown, url: URL, wasSent: boolean): NoAnswer {
  const { name, code, message, reason } = detailsOf(error);
  const mayHaveActed = wasSent;
  const noAnswer = (words: string) => new NoAnswer(words, { mayHaveActed, cause: error });

  if (code === 'ENOTFOUND') return noAnswer(`DNS: no such host ${url.hostname}`);
  if (code.startsWith('EAI_')) return noAnswer(`DNS: cannot look up ${url.hostname} (${code})`);
  if (code === 'ECONNREFUSED') return noAnswer(`connection refused by ${url.host}`);
  if (code === 'EHOSTUNREACH' || code === 'ENETUNREACH') return noAnswer(`no route to ${url.host} (${code})`);
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') {
    return new NoAnswer(`timeout: no connection to ${url.host}`, {
      mayHaveActed,
      timedOut: true,
      cause: error,
    });
  }
  if (isTls(code)) return noAnswer(`TLS: ${wordsOfTls(reason ?? message, url)}`);
  if (name === 'HTTPParserError') {
    const words = `the answer of ${url.host} is not HTTP (${message})`;
    return new NoAnswer(words, { kind: 'unreadable', mayHaveActed, cause: error });
  }
  if (brokenConnection.has(code)) {
    const words = `the connection to ${url.host} broke before the answer was complete`;
    return new NoAnswer(words, { mayHaveActed, isCutOff: true, cause: error });
  }
  return noAnswer(`no answer from ${url.host}: ${message}`);
}

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
    ? `what answers at ${host} does not speak TLS (http instead of https, or another port?)`
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
    message: reasonOf(first),
    // OpenSSL's own words; the message around them is a line of its source code.
    reason: typeof reason === 'string' ? reason : undefined,
  };
}
