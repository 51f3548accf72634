/** What other programs call an option, or a part of it, and what has it here. */
const otherNames: Readonly<Record<string, string>> = {
  'cloud.url': 'cloud.base_url',
  'cloud.host': 'cloud.base_url',
  'cloud.user': 'cloud.email',
  'cloud.username': 'cloud.email',
  'mqtt.host': 'mqtt.url',
  'mqtt.port': 'mqtt.url',
  'mqtt.server': 'mqtt.url',
  'mqtt.broker': 'mqtt.url',
  'mqtt.user': 'mqtt.username',
  'mqtt.ca': 'mqtt.ca_file',
  'mqtt.cert': 'mqtt.cert_file',
  'mqtt.key': 'mqtt.key_file',
  'http.host': 'http.listen',
  'http.port': 'http.listen',
};

/** The option that was meant by such a name; null where it is none of them. */
export function optionCalled(path: string): string | null {
  return Object.hasOwn(otherNames, path) ? (otherNames[path] ?? null) : null;
}
