import { brokerAddresses } from './brokerAddresses.ts';
import { missingAuthority } from './certificates.ts';
import { ingressFrom } from './ingress.ts';
import type { Config } from './schema.ts';
import { readBytes } from './textFile.ts';
import { webhookAddress } from './webhookAddress.ts';

/** What is given in a valid configuration and does not do what it seems to: a line in words for each. */
export function idleOptions(config: Config): string[] {
  return [...idleEmbedded(config), ...idlePassword(config), ...idleAuthority(config), ...idleWebhook(config)];
}

function idleEmbedded(config: Config): string[] {
  return config.mqtt.embedded.enabled && brokerAddresses(config).length > 0
    ? ['mqtt.embedded is not where the bridge connects to: mqtt.url is given, and goes before it']
    : [];
}

function idlePassword(config: Config): string[] {
  const { username, password, password_file: file } = config.mqtt;
  const lacksUser = (address: string) => new URL(address).username === '';
  const isIdle = username === null && (password ?? file) !== null && brokerAddresses(config).some(lacksUser);
  return isIdle ? ['mqtt.password is not sent without mqtt.username'] : [];
}

function idleAuthority({ mqtt }: Config): string[] {
  if (mqtt.ca_file === null || !mqtt.reject_unauthorized) return [];
  const signer = missingAuthority(readBytes(mqtt.ca_file).toString('utf8'));
  return signer === null
    ? []
    : [`mqtt.ca_file trusts nobody: what it holds was signed by ${signer}, whose own certificate it lacks`];
}

function idleWebhook(config: Config): string[] {
  const { listen, only_from: onlyFrom, webhook } = config.http;
  const hasSecret = webhook.secret !== null || webhook.secret_file !== null;
  const hasSigningSecret = webhook.signing_secret !== null || webhook.signing_secret_file !== null;
  const isUsed = hasSecret || hasSigningSecret || webhook.public_url !== null || webhook.register;
  if (listen === null) return isUsed ? ['http.webhook does nothing without http.listen'] : [];
  if (isUsed && onlyFrom.length > 0 && onlyFrom.every((each) => each === ingressFrom)) {
    return ['http.webhook does nothing while http.only_from lets nobody but Home Assistant in'];
  }
  return [
    ...(hasSigningSecret && !hasSecret
      ? ['http.webhook.signing_secret does nothing without http.webhook.secret: there is no webhook']
      : []),
    ...(webhookAddress(config)?.isOwnPath === false
      ? [
          'http.webhook.public_url does not end with /webhook/ and http.webhook.secret: unless a proxy sees to that, deliveries find nothing',
        ]
      : []),
  ];
}
