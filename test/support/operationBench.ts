import { type OperationName, operationRow } from '../../src/cloud/operations.ts';
import type { StubAnswer, StubRequest } from './cloudStub.ts';
import { type BenchOptions, type ClientBench, startBench } from './testClient.ts';

/** A bench whose cloud answers the operation in one way, once a session is there, and everything else as usual. */
export async function benchFor(name: OperationName, answer: StubAnswer, options: BenchOptions = {}) {
  const now = options.clock?.now() ?? Date.now();
  const bench = await startBench(() => answer, {
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
