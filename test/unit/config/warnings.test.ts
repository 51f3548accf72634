import { expect, it } from 'vitest';
import { configSchema } from '../../../src/config/schema.ts';
import { configWarnings } from '../../../src/config/warnings.ts';

const warnings = (cloud: object, mqtt: object) =>
  configWarnings(
    configSchema.parse({
      cloud: {
        base_url: 'https://api.example.com',
        email: 'me@example.com',
        password: 'long enough',
        ...cloud,
      },
      mqtt: { url: 'mqtts://broker.example', ...mqtt },
    }),
  ).map(({ about }) => about);

it.each([
  ['https and TLS', {}, {}],
  ['a cloud on this machine', { base_url: 'http://localhost:8080', password: 'demo' }, {}],
  ['a cloud on this machine, as IPv6', { base_url: 'http://[::1]:8080' }, {}],
  ['a broker for this machine alone', {}, { embedded: { enabled: true, host: '127.0.0.1' } }],
  ['a broker that asks for a password', {}, { embedded: { enabled: true, host: '::', username: 'me' } }],
  ['a broker that is off', {}, { embedded: { enabled: false, host: '0.0.0.0' } }],
])('%s is no reason for a warning', (_, cloud, mqtt) => {
  expect(warnings(cloud, mqtt)).toEqual([]);
});

it.each([
  ['a cloud without TLS', { base_url: 'http://192.0.2.7' }, {}, 'cloud.base_url'],
  [
    'a name that only looks like this machine',
    { base_url: 'http://127.0.0.1.nip.example' },
    {},
    'cloud.base_url',
  ],
  ['a short password of the account', { password: 'secret' }, {}, 'cloud.password'],
  ['a short password of the broker', {}, { username: 'me', password: 'mqtt' }, 'mqtt.password'],
  ['a short password in an address', {}, { url: 'mqtts://me:mqtt@broker' }, 'mqtt.url'],
  ['any certificate', {}, { reject_unauthorized: false }, 'mqtt.reject_unauthorized'],
  ['an open broker', {}, { embedded: { enabled: true, host: '0.0.0.0' } }, 'mqtt.embedded'],
])('%s is', (_, cloud, mqtt, option) => {
  expect(warnings(cloud, mqtt)).toEqual([option]);
});
