import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { sanitize } from '../base/sanitize.ts';
import type { CloudClient } from '../cloud/client.ts';
import { CloudError } from '../cloud/errors.ts';
import { joinedLookUp } from '../cloud/lookUp.ts';
import { describeFailure } from '../cloud/networkErrors.ts';
import type { Config } from '../config/schema.ts';
import { accountProblems, settingsRefused, unmatchedFilters } from '../health/accountProblems.ts';
import type { Store } from '../store/store.ts';
import type { SetupText } from '../texts/texts.ts';
import { type Check, type CheckResult, ok } from './checks.ts';
import { rejectionText } from './ownSession.ts';
import { connectOnce } from './ports.ts';
import { type CheckedAccount, readAccount, readSettings } from './readAccount.ts';

const maxSettingsTried = 20;

/** Each check needs those before it. `degraded` is the outcome of what would make a running bridge degraded. */
export function cloudChecks(
  config: Config,
  client: CloudClient,
  account: CheckedAccount = {},
  degraded: 'FAIL' | 'WARN' = 'FAIL',
): Check[] {
  const url = new URL(config.cloud.base_url);
  // Two checks share one sign-in, because the cloud limits sign-ins.
  let signedIn: Promise<unknown> | undefined;
  const signIn = async () => {
    signedIn ??= client.call({ operation: 'validate_token' });
    await signedIn;
  };
  const http = async () => {
    await signIn().catch((error) => {
      const wasAnswered =
        error instanceof CloudError && (error.status !== undefined || error.kind === 'auth');
      if (!wasAnswered) throw error;
    });
    return ok(`${url.host} answers`);
  };
  const signInCheck = async () => {
    await signIn();
    return ok('the cloud accepts the e-mail and the password');
  };
  return [
    ...networkChecks(config, url),
    cloudCheck('HTTP', http, 'result_cloud_unreachable'),
    { name: 'sign-in', run: signInCheck, textOf: accountText },
    {
      name: 'account',
      textOf: accountText,
      run: async (progress) => {
        const { properties: selection } = config.filters;
        const store = await readAccount(client, { selection, account, progress });
        const tried = store.ids('property').slice(0, maxSettingsTried);
        const isOffered = client.isOffered('read_property_settings');
        const settings = await readSettings(client, isOffered ? tried : []);
        const refused = tried.filter((id) => settings.get(id) === null);
        const names = refused.map((id) => store.devices.property.get(id)?.name ?? id);
        return [
          ...findingsOn(store, account, degraded),
          ...names.map((name) => finding('WARN', settingsRefused(name))),
        ];
      },
    },
  ];
}

function networkChecks(config: Config, url: URL): Check[] {
  const timeoutMs = config.cloud.request_timeout;
  const host = hostOf(url);
  const lookUp = async () => {
    const found = await addressesOf(host).catch((error) => fail(error, url));
    return ok(`${host} is ${found.map(({ address }) => address).join(', ')}`);
  };
  const tcp = async () => ok(`connected to ${await connectTo(url, timeoutMs, false)}`);
  const tls = async () => ok(`${await connectTo(url, timeoutMs, true)} has a valid certificate`);
  return [
    ...(isIP(host) === 0 ? [cloudCheck('DNS', lookUp, 'result_cloud_name')] : []),
    cloudCheck('TCP', tcp, 'result_cloud_unreachable'),
    ...(url.protocol === 'https:' ? [cloudCheck('TLS', tls, 'result_cloud_certificate')] : []),
  ];
}

function cloudCheck(name: string, run: Check['run'], text: SetupText): Check {
  return { name: `cloud: ${name}`, run, textOf: () => text };
}

function accountText(error: unknown): SetupText {
  if (!(error instanceof CloudError)) return 'result_account_fails';
  if (rejectionText(error) !== null)
    return error.said === '' ? 'result_sign_in_rejected' : 'result_sign_in_refused';
  const mayPass = error.kind === 'unavailable' || error.kind === 'rateLimited';
  return mayPass ? 'result_cloud_error' : 'result_account_fails';
}

function addressesOf(host: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    joinedLookUp()(host, { all: true }, (error, found) =>
      error || typeof found === 'string' ? reject(error) : resolve(found),
    );
  });
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

async function connectTo(url: URL, timeoutMs: number, isTls: boolean): Promise<string> {
  const host = hostOf(url);
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  try {
    await connectOnce(host, port, timeoutMs, isTls);
  } catch (error) {
    fail(error, url);
  }
  return `${host}:${port}`;
}

/** Throws an error without "DNS" or "TLS" at its beginning, because the name of the check says that already. */
function fail(error: unknown, url: URL): never {
  const { message } = describeFailure(error, url, false);
  throw new Error(message.replace(/^(DNS|TLS): /, ''), { cause: error });
}

/** The findings of a running bridge about the account, and how much there is. */
function findingsOn(store: Store, account: CheckedAccount, degraded: CheckResult['outcome']): CheckResult[] {
  const { properties = [], signals = [], sonics = [], wifiSonics = [], openIncidents = [] } = account;
  const all = countOf(properties.length, 'property', 'properties');
  const words = [
    ...[all, countOf(signals.length, 'hub'), countOf(sonics.length, 'valve')],
    ...(wifiSonics.length > 0 ? [countOf(wifiSonics.length, 'Wi-Fi valve')] : []),
    countOf(openIncidents.length, 'open alert'),
    ...(store.filter.isOn ? [`filters.properties selects ${store.counts().properties} of ${all}`] : []),
  ];
  const unmatched = unmatchedFilters(store);
  return [
    ...ok(words.join(', '), 'result_account_works'),
    ...accountProblems(store, true)
      .filter(({ message }) => !unmatched.includes(message))
      .map(({ status, message }) => finding(status === 'ok' ? 'WARN' : degraded, message)),
    ...unmatched.map((message) => finding('FAIL', message)),
  ];
}

function finding(outcome: CheckResult['outcome'], words: string): CheckResult {
  const text = outcome === 'WARN' ? 'result_note' : 'result_account_fails';
  return { outcome, words: sanitize(words), text };
}

function countOf(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}
