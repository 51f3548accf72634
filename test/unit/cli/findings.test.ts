import { createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { describeClientError, describeError, describeUnanswered } from '../../../src/broker/errorMessages.ts';
import { findingText } from '../../../src/cli/findings.ts';
import { connectOnce } from '../../../src/cli/ports.ts';
import { describeFailure } from '../../../src/cloud/networkErrors.ts';
import { rejectionMessage } from '../../../src/cloud/signInLimits.ts';

const errorWith = (code: unknown, message = 'x') => Object.assign(new Error(message), { code });
const notTls = Object.assign(errorWith('EPROTO'), { reason: 'wrong version number' });
const url = new URL('https://cloud.example.com');
const toCloud = (error: unknown) => describeFailure(error, url, false).message;
const broker = (error: unknown) => ['MQTT broker', `mqtt://10.0.0.2:1883: ${describeError(error)}`] as const;

it.each([
  ...[
    [...broker(errorWith('ENOTFOUND')), 'broker_name'],
    [...broker(errorWith('EAI_AGAIN')), 'broker_name'],
    [...broker(errorWith('ECONNREFUSED')), 'broker_refuses'],
    [...broker(errorWith('EHOSTUNREACH')), 'broker_unreachable'],
    [...broker(errorWith('ETIMEDOUT')), 'broker_silent'],
    [...broker(new Error('connack timeout')), 'broker_silent'],
    [...broker(errorWith(4)), 'broker_user'],
    [...broker(errorWith(5)), 'broker_user'],
    [...broker(errorWith(134)), 'broker_user'],
    [...broker(errorWith(135)), 'broker_user'],
    [...broker(errorWith('DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate')), 'broker_certificate'],
    [...broker(errorWith('CERT_HAS_EXPIRED', 'certificate has expired')), 'broker_certificate'],
    [...broker(errorWith('UNABLE_TO_VERIFY_LEAF_SIGNATURE')), 'broker_certificate'],
    [...broker(errorWith('ERR_SSL_UNSUPPORTED_PROTOCOL')), 'broker_certificate'],
    [...broker(notTls), 'broker_protocol'],
    ['MQTT broker', describeUnanswered('the connection was closed', 'mqtt://host'), 'broker_protocol'],
    ['MQTT broker', describeClientError(new Error('Invalid header'), false), 'broker_protocol'],
    [...broker(errorWith(136, 'Connection refused: Server unavailable')), 'broker_fails'],
    ['MQTT broker', 'the broker rejects a subscription: x: not authorized', 'broker_access'],
    ['MQTT broker', 'the broker does not send x back. Check its access list', 'broker_access'],
    ['MQTT broker', 'the connection was reset', 'broker_fails'],
  ],
  ...[
    ['cloud: DNS', toCloud(errorWith('ENOTFOUND')), 'cloud_name'],
    ['cloud: DNS', toCloud(errorWith('EBLOCKED')), 'cloud_name'],
    ['cloud: TCP', toCloud(errorWith('ECONNREFUSED')), 'cloud_refuses'],
    ['cloud: TCP', toCloud(errorWith('ETIMEDOUT')), 'cloud_silent'],
    ['cloud: TLS', toCloud(errorWith('CERT_HAS_EXPIRED', 'certificate has expired')), 'cloud_certificate'],
    ['cloud: TCP', toCloud(errorWith('EHOSTUNREACH')), 'cloud_unreachable'],
    ['cloud: HTTP', toCloud(errorWith('ECONNRESET')), 'cloud_silent'],
    ['sign-in', 'the cloud answered 503 (server error)', 'cloud_error'],
    ['sign-in', 'the cloud answered 404 (not found)', 'account_fails'],
    ['sign-in', rejectionMessage('', 401), 'sign_in_rejected'],
    ['sign-in', rejectionMessage('The account is locked', 401), 'sign_in_refused'],
  ],
  ['/config/config.yaml', 'cannot be written (permission denied)', 'file_fails'],
])('%s: %s is explained in the language of the user', (check, words, text) => {
  expect(findingText({ check, outcome: 'FAIL', words })).toBe(`result_${text}`);
});

it('is named only if it failed or works, and with its field if it has one', () => {
  const texts = (['OK', 'WARN', 'FAIL'] as const).map((outcome) =>
    ['sign-in', 'account', 'MQTT broker'].map((check) => findingText({ check, outcome, words: '' })),
  );
  expect(texts).toEqual([
    [null, 'result_account_works', 'result_broker_works'],
    ['result_note', 'result_note', 'result_note'],
    ['result_account_fails', 'result_account_fails', 'result_broker_fails'],
  ]);
  expect(findingText({ check: 'x', outcome: 'FAIL', words: '', field: 'broker' })).toBe('result_field');
});

it('tells a server that does not answer from one to which there is no connection', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await new Promise((resolve) => silent.once('listening', resolve));
  const { port } = Object(silent.address());
  await expect(connectOnce('127.0.0.1', port, 50, true)).rejects.toThrow('accepts connections but does not');
});
