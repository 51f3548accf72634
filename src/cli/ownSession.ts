import { systemClock } from '../base/clock.ts';
import { errorMessage } from '../base/errorMessage.ts';
import type { Connection } from '../broker/connection.ts';
import { probeBroker } from '../broker/probeBroker.ts';
import { CloudClient } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import { rejectionMessage } from '../cloud/signInLimits.ts';
import { brokerOptions, cloudOptions } from '../partOptions.ts';
import type { Configuration } from './configuration.ts';

const signOutLimitMs = 3_000;
const hurriedSignOutLimitMs = 700;

/** Has its own session, so that the bridge's session is not disturbed. That of a given token is used unchanged. */
export function ownClient({ config, log, secrets }: Configuration, token?: string): CloudClient {
  const options = cloudOptions(config, log, secrets, systemClock);
  const given = token === undefined ? null : { token, since: systemClock.now() };
  const memory = { load: () => given, save: () => {} };
  const client = new CloudClient({ ...options, memory, isSessionFixed: given !== null });
  // The command's own signal is not used: after an interruption, the client must still sign out.
  client.start(new AbortController().signal);
  return client;
}

/** The cloud keeps at most ten sessions per account, and this one must not displace that of the bridge. */
export async function signOutAndClose(client: CloudClient, signal: AbortSignal): Promise<void> {
  const limit = signal.aborted
    ? AbortSignal.timeout(hurriedSignOutLimitMs)
    : AbortSignal.any([signal, AbortSignal.timeout(signOutLimitMs)]);
  if (client.session.state.status === 'signed_in') {
    await client.call({ operation: 'sign_out' }, { signal: limit }).catch(() => {});
  }
  await client.close();
}

export async function withOwnClient<T>(
  configuration: Configuration,
  signal: AbortSignal,
  work: (client: CloudClient) => Promise<T>,
): Promise<T> {
  const client = ownClient(configuration);
  try {
    return await work(client);
  } finally {
    await signOutAndClose(client, signal);
  }
}

/** Runs `work` with a connection to the broker of its own. Rejects with an error that names the broker. */
export function withOwnConnection<T>(
  { config, log, secrets, findBroker }: Configuration,
  visitor: string,
  signal: AbortSignal,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  // The error already says why there is no connection, so the connection logs only errors of its own.
  const parts = { clock: systemClock, log: log.child({}, { level: 'error' }), stopping: signal };
  return probeBroker(brokerOptions(config, secrets, systemClock, findBroker), visitor, parts, work).catch(
    (error: unknown) => {
      throw new Error(`MQTT broker: ${errorMessage(error)}`);
    },
  );
}

/** The message if the cloud has rejected the account; null for any other error. A command does not try again. */
export function rejectionText(error: unknown): string | null {
  if (!(error instanceof CloudError) || error.kind !== 'auth' || error.status === undefined) return null;
  return error.operation === 'sign_in' ? rejectionMessage(error.said, error.status) : null;
}
