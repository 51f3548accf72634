import { describe, expect, it } from 'vitest';
import { risksOf } from '../../../src/config/risks.ts';
import { configSchema } from '../../../src/config/schema.ts';

const risks = (cloud: object, mqtt: object) =>
  risksOf(
    configSchema.parse({
      cloud: { base_url: 'https://api.example.com', email: 'me@example.com', password: 'secret', ...cloud },
      mqtt: { url: 'mqtts://broker.example', ...mqtt },
    }),
  );

describe('a configuration', () => {
  it('as it is meant to be lets nobody in', () => {
    expect(risks({}, {})).toEqual([]);
  });

  it.each(['http://localhost:8080', 'http://127.0.0.1:8080/api', 'http://127.8.9.1', 'http://[::1]:8080'])(
    'whose cloud is on this machine at %s has nobody on the way',
    (base_url) => {
      expect(risks({ base_url }, {})).toEqual([]);
    },
  );

  it.each([
    'http://api.example.com',
    'HTTP://192.0.2.7',
    'http://localhost.example.com',
    'http://127.0.0.1.nip.example',
  ])('that sends the password to %s says who can read it', (base_url) => {
    expect(risks({ base_url }, {})).toEqual([
      'cloud.base_url is http: anybody on the way can read the password and command the valves',
    ]);
  });

  it('that takes any certificate for the broker says who can command the valves', () => {
    expect(risks({}, { reject_unauthorized: false })).toEqual([
      'mqtt.reject_unauthorized is false: anybody on the way can read and command the valves',
    ]);
  });

  it.each(['0.0.0.0', '::', '192.0.2.7', 'nas'])('whose broker listens on %s wants a user name', (host) => {
    const words = `mqtt.embedded listens on ${host} without a username: anybody in the network can read and command the valves`;
    expect(risks({}, { embedded: { enabled: true, host } })).toEqual([words]);
    expect(risks({}, { embedded: { enabled: true, host, username: 'me', password: 'x' } })).toEqual([]);
    expect(risks({}, { embedded: { enabled: false, host } })).toEqual([]);
  });

  it.each(['127.0.0.1', 'localhost', '::1'])('whose broker listens on %s does not', (host) => {
    expect(risks({}, { embedded: { enabled: true, host } })).toEqual([]);
  });

  it('names all of them at once', () => {
    const all = risks(
      { base_url: 'http://api.example.com' },
      { reject_unauthorized: false, embedded: { enabled: true, host: '0.0.0.0' } },
    );
    expect(all.map((risk) => risk.split(' ')[0])).toEqual([
      'cloud.base_url',
      'mqtt.reject_unauthorized',
      'mqtt.embedded',
    ]);
  });
});
