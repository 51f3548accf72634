import { expect, onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { createLog } from '../../src/base/log.ts';
import { Secrets } from '../../src/base/secrets.ts';
import { CloudClient, type CloudClientOptions } from '../../src/cloud/client.ts';
import { CloudError } from '../../src/cloud/errors.ts';
import { type Call, type OperationName, operationRow } from '../../src/cloud/operations.ts';
import type { CallOptions } from '../../src/cloud/requestPipeline.ts';
import type { StoredSession } from '../../src/cloud/session.ts';
import {
  type CloudStub,
  type StubAnswer,
  type StubHandler,
  type StubRequest,
  startCloudStub,
  stubEmail,
} from './cloudStub.ts';

/** A bench for the cloud client: a client on a strict stub of the cloud. Both stop when the test ends. */
export interface ClientBench {
  readonly client: WillingClient;
  readonly stub: CloudStub;
  /** The lines of the log, as JSON. */
  readonly lines: string[];
  /** The saved session. */
  readonly memory: { session: StoredSession | null };
  readonly secrets: Secrets;
}

export interface BenchOptions extends Partial<Omit<CloudClientOptions, 'memory'>> {
  readonly session?: StoredSession;
}

/** Most calls that move a valve are here to show what becomes of them, not who may send them. */
class WillingClient extends CloudClient {
  /** What it was asked to call, whether it was sent or not. */
  readonly asked: OperationName[] = [];

  override callRaw<Name extends OperationName>(call: Call<Name>, options: CallOptions = {}) {
    this.asked.push(call.operation);
    return super.callRaw(call, { mayMove: () => true, ...options });
  }
}

/** Starts a client, by default with short waits between retries and a very high limit of requests. */
export async function startClient(handler?: StubHandler, options: BenchOptions = {}): Promise<ClientBench> {
  const stub = await startCloudStub(handler);
  const { session = null, ...rest } = options;
  const memory = { session };
  const lines: string[] = [];
  const secrets = new Secrets();
  const stop = new AbortController();
  const client = new WillingClient({
    baseUrl: `${stub.url}/`,
    email: stubEmail,
    password: async () => stub.password,
    requestTimeoutMs: 5_000,
    maxConcurrency: 4,
    maxRequestsPerMinute: 10_000,
    routes: {},
    // A test with a timeout of its own needs the real clock.
    clock: options.requestTimeoutMs === undefined ? fastRetryClock : systemClock,
    log: createLog({
      level: 'trace',
      format: 'json',
      secrets,
      output: { write: (line: string) => void lines.push(line) },
    }),
    secrets,
    memory: {
      load: () => memory.session,
      save: (saved) => {
        memory.session = saved;
      },
    },
    ...rest,
  });
  if (session) stub.tokens.add(session.token);
  client.start(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await client.close();
    await stub.close();
  });
  return { client, stub, lines, memory, secrets };
}

/** The system clock, on which waits between attempts pass a hundred times faster. */
let skippedMs = 0;
const monotonic = () => systemClock.monotonic() + skippedMs;
const fastRetryClock: Clock = {
  ...systemClock,
  monotonic,
  after: (delayMs, callback) => {
    if (delayMs >= 4_500) return systemClock.after(delayMs, callback);
    const dueAt = monotonic() + delayMs;
    return systemClock.after(delayMs / 100, () => {
      skippedMs += Math.max(0, dueAt - monotonic());
      callback();
    });
  },
};

export const closeValve = {
  operation: 'command_valve',
  params: { sonic_id: 's-1' },
  body: { action: 'close' },
} as const;

/** The error with which the promise fails. It must be a `CloudError`. */
export async function errorOf(promise: Promise<unknown>): Promise<CloudError> {
  const error = await promise.then(
    () => expect.fail('it was answered'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(CloudError);
  return error as CloudError;
}

// ---- one operation ----------------------------------------------------------------------------------------------

/**
 * A bench with a session, whose cloud gives this answer to the operation. Other requests are answered as
 * usual.
 */
export async function benchFor(name: OperationName, answer: StubAnswer, options: BenchOptions = {}) {
  const now = options.clock?.now() ?? Date.now();
  const bench = await startClient(() => answer, {
    session: { token: 'kept', since: now },
    random: () => 0,
    ...options,
  });
  answerWith(bench, name, answer);
  return bench;
}

/** Changes the answer of the bench's cloud to the operation. */
export function answerWith({ stub }: ClientBench, name: OperationName, answer: StubAnswer): void {
  stub.handler = () => answer;
  stub.sessionHandler = (request) => (isFor(name, request) ? answer : undefined);
}

/** Whether the stub handles the operation as a request for a session. */
const isOfSession = (name: OperationName) => operationRow(name).path.startsWith('/user-service/auth/');

const isFor = (name: OperationName, { path }: StubRequest) =>
  !isOfSession(name) || path === operationRow(name).path;

/** The requests for the operation that reached the stub. */
export function requestsFor({ stub }: ClientBench, name: OperationName): StubRequest[] {
  const requests = isOfSession(name) ? stub.sessionRequests : stub.requests;
  return requests.filter((request) => isFor(name, request));
}

/** Deletes the recorded requests. */
export function forget({ stub }: ClientBench): void {
  stub.requests.length = 0;
  stub.sessionRequests.length = 0;
}

/**
 * Whether a 404 may mean that the route does not exist. The route was guessed, or is not in the vendor's
 * interface document.
 */
export function isUncertain(name: OperationName): boolean {
  const { source, number, session } = operationRow(name);
  return source === 'assumed' || (number === null && session !== true);
}
