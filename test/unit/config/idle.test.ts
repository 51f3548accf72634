import { describe, expect, it } from 'vitest';
import { idleOptions } from '../../../src/config/idle.ts';
import { configSchema } from '../../../src/config/schema.ts';

const idle = (http: object, mqtt: object = {}) =>
  idleOptions(
    configSchema.parse({
      cloud: { base_url: 'https://api.example.com', email: 'me@example.com', password: 'secret' },
      http,
      mqtt,
    }),
  );

describe('options that change nothing', () => {
  it.each([
    {},
    { listen: '127.0.0.1:0' },
    { listen: '127.0.0.1:0', webhook: { secret: 'x', signing_secret: 'y' } },
    { listen: '127.0.0.1:0', webhook: { secret_file: 'x', signing_secret_file: 'y' } },
    { listen: '127.0.0.1:0', webhook: { public_url: 'https://me.example.com' } },
    { listen: '127.0.0.1:0', webhook: { secret: 'a b', public_url: 'https://me.example.com' } },
    ...['a b', 'a%20b', 'a b/'].map((end) => ({
      listen: '127.0.0.1:0',
      webhook: { secret: 'a b', public_url: `https://me.example.com/webhook/${end}`, register: true },
    })),
  ])('are none of these: %j', (http) => {
    expect(idle(http)).toEqual([]);
  });

  it.each([{ secret: 'x' }, { secret_file: 'x' }, { signing_secret: 'x' }, { public_url: 'https://a.b' }])(
    'are those of a webhook without an address: %j',
    (webhook) => {
      expect(idle({ webhook })).toEqual(['http.webhook does nothing without http.listen']);
    },
  );

  it('are an embedded broker beside the address of another', () => {
    const embedded = { enabled: true };
    expect(idle({}, { embedded })).toEqual([]);
    expect(idle({}, { url: 'mqtt://localhost:1883' })).toEqual([]);
    expect(idle({}, { url: 'mqtt://localhost:1883', embedded })).toEqual([
      'mqtt.embedded is not where the bridge connects to: mqtt.url is given, and goes before it',
    ]);
  });

  it.each([{ password: 'x' }, { password_file: 'x' }])(
    'are a password for a broker that is told no user: %j',
    (password) => {
      const lines = ['mqtt.password is not sent without mqtt.username'];
      expect(idle({}, { url: 'mqtt://localhost', ...password })).toEqual(lines);
      expect(idle({}, { url: ['mqtt://me@localhost', 'mqtt://other'], ...password })).toEqual(lines);
      expect(idle({}, { url: 'mqtt://me@localhost', ...password })).toEqual([]);
      expect(idle({}, { url: 'mqtt://localhost', username: 'me', ...password })).toEqual([]);
    },
  );

  it.each([{}, { secret: 'x' }, { secret: 'x', public_url: 'https://me.example.com/webhook/y' }])(
    'are an address that leads to no webhook by itself: %j',
    (webhook) => {
      const registered = { public_url: 'https://me.example.com', register: true, ...webhook };
      expect(idle({ listen: '127.0.0.1:0', webhook: registered })).toEqual([
        'http.webhook.public_url does not end with /webhook/ and http.webhook.secret: unless a proxy sees to that, deliveries find nothing',
      ]);
    },
  );

  it('are a signing secret without a webhook', () => {
    expect(idle({ listen: '127.0.0.1:0', webhook: { signing_secret_file: 'x' } })).toEqual([
      'http.webhook.signing_secret does nothing without http.webhook.secret: there is no webhook',
    ]);
  });
});
