import { expect, it } from 'vitest';
import { collectFindings, runChecks } from '../../../src/cli/checks.ts';
import { cloudChecks } from '../../../src/cli/cloudChecks.ts';
import type { CloudClient } from '../../../src/cloud/client.ts';
import { CloudError } from '../../../src/cloud/errors.ts';
import { configSchema } from '../../../src/config/schema.ts';

const config = configSchema.parse({
  cloud: { base_url: 'https://cloud.example.com', email: 'me@example.com', password: 'secret' },
  mqtt: { url: 'mqtt://localhost' },
});

const signIn = (kind: ConstructorParameters<typeof CloudError>[0], details = {}) =>
  new CloudError(kind, 'sign_in', 'words', details);

it.each([
  ['sign-in', signIn('auth', { status: 401 }), 'sign_in_rejected'],
  ['sign-in', signIn('auth', { status: 401, said: 'The account is locked' }), 'sign_in_refused'],
  ['sign-in', signIn('unavailable', { status: 503 }), 'cloud_error'],
  ['account', signIn('rateLimited', { status: 429 }), 'cloud_error'],
  ['account', signIn('unavailable', { timedOut: true }), 'cloud_error'],
  ['account', signIn('forbidden', { status: 403 }), 'account_fails'],
  ['account', new Error('list_properties: the list is incomplete'), 'account_fails'],
  ['cloud: HTTP', signIn('unavailable'), 'cloud_unreachable'],
  ['cloud: DNS', new Error('no such host'), 'cloud_name'],
  ['cloud: TCP', new Error('connection refused'), 'cloud_unreachable'],
  ['cloud: TLS', new Error('certificate has expired'), 'cloud_certificate'],
])('A failure of %s has the text of a setup: %s', async (name, error, text) => {
  const checks = cloudChecks(config, {} as CloudClient).filter((each) => each.name === name);
  const { findings, report } = collectFindings();
  const failing = checks.map((each) => ({ ...each, run: () => Promise.reject(error) }));
  await runChecks(failing, report, new AbortController().signal);
  expect(findings).toMatchObject([{ check: name, outcome: 'FAIL', text: `result_${text}` }]);
});
