import { systemClock } from '../base/clock.ts';
import { CloudClient } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import { cloudOptions } from '../partOptions.ts';
import type { Configuration } from './configuration.ts';

const signOutLimitMs = 3_000;
const hurriedSignOutLimitMs = 700;

/** A client with a session of its own, which must not disturb the bridge's; or with that of a token, as it is. */
export function ownClient({ config, log, secrets }: Configuration, token?: string): CloudClient {
  const options = cloudOptions(config, log, secrets, systemClock);
  const given = token === undefined ? null : { token, since: systemClock.now() };
  const memory = { load: () => given, save: () => {} };
  const client = new CloudClient({ ...options, memory, isSessionFixed: given !== null });
  // Not the signal of the command: once that is interrupted, there is a session to be signed out.
  client.start(new AbortController().signal);
  return client;
}

/**
 * Signs out if there still is a session: the cloud keeps ten per account at most, and this one must not push out the
 * bridge's. Whether that succeeds is no part of what was asked.
 */
export async function signOutAndClose(client: CloudClient, signal: AbortSignal): Promise<void> {
  const limit = signal.aborted
    ? AbortSignal.timeout(hurriedSignOutLimitMs)
    : AbortSignal.any([signal, AbortSignal.timeout(signOutLimitMs)]);
  if (client.sessionState().status === 'signed_in') {
    await client.call({ operation: 'sign_out' }, { signal: limit }).catch(() => {});
  }
  await client.close();
}

/** What to say if the cloud has rejected the account, since a command does not try again; null for any other error. */
export function rejectionText(error: unknown): string | null {
  if (!(error instanceof CloudError) || error.kind !== 'auth' || error.operation !== 'sign_in') return null;
  if (error.status === undefined) return null;
  return `the cloud rejects the e-mail or the password (status ${error.status}). Correct them`;
}
