import type { SetupText } from '../texts/texts.ts';

export interface CheckResult {
  readonly outcome: 'OK' | 'WARN' | 'FAIL';
  readonly words: string;
}

export interface Finding extends CheckResult {
  readonly check: string;
  /** The name of the answer that is wrong, in a setup. */
  readonly field?: string;
}

const cloud = /^(cloud|sign-in|account)/;
const broker = /^MQTT broker/;
const any = /^/;

/** THE TABLE of failures that a setup explains in the language of the user, by check and words. The first row that fits. */
const failures: readonly (readonly [check: RegExp, words: RegExp, text: SetupText])[] = [
  [cloud, /^the cloud rejects the e-mail or the password/, 'result_sign_in_rejected'],
  [cloud, /^the cloud rejects/, 'result_sign_in_refused'],
  [cloud, /no such host|name server|blocks/, 'result_cloud_name'],
  [cloud, /connection refused/, 'result_cloud_refuses'],
  [cloud, /certificate|TLS/, 'result_cloud_certificate'],
  [cloud, /timeout|no answer|broke before/, 'result_cloud_silent'],
  [cloud, /the cloud (answered (429|5)|requests a wait)/, 'result_cloud_error'],
  [/^cloud/, any, 'result_cloud_unreachable'],
  [cloud, any, 'result_account_fails'],
  [broker, /^the broker (rejects a subscription:|does not send )/, 'result_broker_access'],
  [broker, /no such host|name server/, 'result_broker_name'],
  [broker, /connection refused/, 'result_broker_refuses'],
  [broker, /no route/, 'result_broker_unreachable'],
  [broker, /does not use|before any answer|WebSocket|redirects/, 'result_broker_protocol'],
  [broker, /certificate|TLS/, 'result_broker_certificate'],
  [broker, /wrong user name|not authorized/, 'result_broker_user'],
  [broker, /no answer|not answer/, 'result_broker_silent'],
  [broker, any, 'result_broker_fails'],
  [any, any, 'result_file_fails'],
];

/** The text for a finding; null for one that a setup does not show. */
export function findingText({ check, outcome, words, field }: Finding): SetupText | null {
  if (field) return 'result_field';
  if (outcome === 'WARN') return 'result_note';
  if (outcome === 'FAIL')
    return failures.find(([ofCheck, ofWords]) => ofCheck.test(check) && ofWords.test(words))?.[2] ?? null;
  if (check === 'account') return 'result_account_works';
  return broker.test(check) ? 'result_broker_works' : null;
}
