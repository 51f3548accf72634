import type { Config } from './schema.ts';

/** What is given in a valid configuration and changes nothing, as something else is missing: a line in words for each. */
export function idleOptions({ http }: Config): string[] {
  const { listen, webhook } = http;
  const hasSecret = webhook.secret !== null || webhook.secret_file !== null;
  const hasSigningSecret = webhook.signing_secret !== null || webhook.signing_secret_file !== null;
  const isUsed = hasSecret || hasSigningSecret || webhook.public_url !== null || webhook.register;
  if (listen === null) return isUsed ? ['http.webhook does nothing without http.listen'] : [];
  return hasSigningSecret && !hasSecret
    ? ['http.webhook.signing_secret does nothing without http.webhook.secret: there is no webhook']
    : [];
}
