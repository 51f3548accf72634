import { expect, onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { createLog } from '../../src/base/log.ts';
import { Secrets } from '../../src/base/secrets.ts';
import { CloudClient, type CloudClientOptions } from '../../src/cloud/client.ts';
import { CloudError } from '../../src/cloud/errors.ts';
import { type OperationName, operationRow } from '../../src/cloud/operations.ts';
import type { StoredSession } from '../../src/cloud/session.ts';
import {
  type CloudStub,
  type StubAnswer,
  type StubHandler,
  type StubRequest,
  startCloudStub,
  stubEmail,
} from './cloudStub.ts';

/** A client on a strict stub of the cloud, both stopped when the test ends. */
export interface ClientBench {
  readonly client: CloudClient;
  readonly stub: CloudStub;
  /** What was logged, one JSON text a line. */
  readonly lines: string[];
  /** What the session's memory holds. */
  readonly memory: { session: StoredSession | null };
  readonly secrets: Secrets;
}

export interface BenchOptions extends Partial<Omit<CloudClientOptions, 'memory'>> {
  readonly session?: StoredSession;
}

/** Starts a client with quick retries and a generous budget unless told otherwise. */
export async function startClient(handler?: StubHandler, options: BenchOptions = {}): Promise<ClientBench> {
  const stub = await startCloudStub(handler);
  const { session = null, ...rest } = options;
  const memory = { session };
  const lines: string[] = [];
  const secrets = new Secrets();
  const stop = new AbortController();
  const client = new CloudClient({
    baseUrl: `${stub.url}/`,
    email: stubEmail,
    password: () => stub.password,
    requestTimeoutMs: 5_000,
    maxConcurrency: 4,
    maxRequestsPerMinute: 10_000,
    routes: {},
    // A test that is about the deadline needs the true one.
    clock: options.requestTimeoutMs === undefined ? hastyClock : systemClock,
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

/** The machine's clock, on which waits between attempts are a hundred times shorter. */
const hastyClock: Clock = {
  ...systemClock,
  after: (delayMs, callback) => systemClock.after(delayMs < 4_500 ? delayMs / 100 : delayMs, callback),
};

/** The call that closes the valve of sonic s-1. */
export const closeValve = {
  operation: 'command_valve',
  params: { sonic_id: 's-1' },
  body: { action: 'close' },
} as const;

/** What the promise fails with, which must be of the one family. */
export async function errorOf(promise: Promise<unknown>): Promise<CloudError> {
  const error = await promise.then(
    () => expect.fail('it was answered'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(CloudError);
  return error as CloudError;
}

// ---- one operation ----------------------------------------------------------------------------------------------

/** A bench whose cloud answers the operation in one way, once a session is there, and everything else as usual. */
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

/** Lets the cloud of the bench answer the operation in another way. */
export function answerWith({ stub }: ClientBench, name: OperationName, answer: StubAnswer): void {
  stub.handler = () => answer;
  stub.sessionHandler = (request) => (isFor(name, request) ? answer : undefined);
}

/** Whether the stub takes its requests for those of a session. */
const isOfSession = (name: OperationName) => operationRow(name).path.startsWith('/user-service/auth/');

const isFor = (name: OperationName, { path }: StubRequest) =>
  !isOfSession(name) || path === operationRow(name).path;

/** What the stub heard of the operation itself. */
export function heard({ stub }: ClientBench, name: OperationName): StubRequest[] {
  const requests = isOfSession(name) ? stub.sessionRequests : stub.requests;
  return requests.filter((request) => isFor(name, request));
}

/** Forgets what the stub has heard. */
export function forget({ stub }: ClientBench): void {
  stub.requests.length = 0;
  stub.sessionRequests.length = 0;
}

/** Whether a 404 may be about the route: nobody has published it, or it is beyond the interface document. */
export function isUncertain(name: OperationName): boolean {
  const { source, number, session } = operationRow(name);
  return source === 'assumed' || (number === null && session !== true);
}
