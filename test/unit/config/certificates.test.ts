import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { idleOptions } from '../../../src/config/idle.ts';
import { ConfigError, loadConfig } from '../../../src/config/load.ts';
import { temporaryFolder } from '../../support/program.ts';

let folder: string;
beforeAll(() => {
  folder = temporaryFolder();
  const openssl = (line: string) => execFileSync('openssl', line.split(' '), { cwd: folder, stdio: 'pipe' });
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout';
  openssl(`req -x509 ${key} ca.key -out ca.pem -days 2 -subj /O=Home/CN=Authority`);
  openssl(`req ${key} client.key -out client.csr -subj /CN=client`);
  openssl('x509 -req -in client.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out client.pem -days 2');
  openssl('pkey -in client.key -aes256 -passout pass:hush -out encrypted.key');
  openssl('ec -in client.key -aes256 -passout pass:hush -out encryptedLongAgo.key');
  openssl('pkey -in client.key -pubout -out public.key');
  openssl('x509 -in ca.pem -outform der -out ca.der');
  openssl('pkcs12 -export -in client.pem -inkey client.key -passout pass:hush -out client.p12');
  openssl('pkcs12 -in client.p12 -passin pass:hush -nodes -out bag.pem');
  openssl('ecparam -name prime256v1 -genkey -out other.key');
  writeFileSync(join(folder, 'empty'), '');
  writeFileSync(
    join(folder, 'damaged.pem'),
    '-----BEGIN CERTIFICATE-----\nhush\n-----END CERTIFICATE-----\n',
  );
  writeFileSync(
    join(folder, 'damaged.key'),
    '-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----\n',
  );
});

const load = (files: object) =>
  loadConfig({
    env: {
      SONIC2MQTT_CLOUD__BASE_URL: 'https://api.example.com',
      SONIC2MQTT_CLOUD__EMAIL: 'me@example.com',
      SONIC2MQTT_CLOUD__PASSWORD: 'secret',
      SONIC2MQTT_MQTT__URL: 'mqtts://broker.lan',
      ...files,
    },
    cwd: folder,
  });

function problemsOf(files: object): readonly string[] {
  try {
    load(files);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

const client = (cert: string, key: string) => ({
  SONIC2MQTT_MQTT__CERT_FILE: cert,
  SONIC2MQTT_MQTT__KEY_FILE: key,
});
const authority = (ca: string) => ({ SONIC2MQTT_MQTT__CA_FILE: ca });

const [inCa, inCert, inKey] = ['ca', 'cert', 'key'].map(
  (name) => `mqtt.${name}_file (SONIC2MQTT_MQTT__${name.toUpperCase()}_FILE): `,
);
const noCertificate = 'holds no certificate (it must be PEM, text with the line -----BEGIN CERTIFICATE-----';
const noKey = 'holds no private key (it must be PEM, text with the line -----BEGIN PRIVATE KEY-----';

describe('the files of a client certificate', () => {
  it.each([
    ['client.pem', 'client.key'],
    ['bag.pem', 'bag.pem'],
  ])('are taken: %s, %s', (cert, key) => {
    expect(problemsOf(client(cert, key))).toEqual([]);
  });

  it('that were mixed up are told both, by what they hold', () => {
    expect(problemsOf(client('client.key', 'client.pem'))).toEqual([
      `${inCert}${noCertificate}, not PRIVATE KEY)`,
      `${inKey}${noKey}, not CERTIFICATE)`,
    ]);
  });

  it.each([
    ['client.csr', `${noCertificate}, not CERTIFICATE REQUEST)`],
    ['client.p12', `${noCertificate})`],
    ['empty', `${noCertificate})`],
    ['damaged.pem', expect.stringMatching(/^its certificate cannot be used: [a-z ]+$/)],
  ])('are told where %s is no certificate', (cert, words) => {
    const [problem = '', ...others] = problemsOf(client(cert, 'client.key'));
    expect([problem.slice(0, inCert?.length), problem.slice(inCert?.length), others]).toEqual([
      inCert,
      words,
      [],
    ]);
  });

  it.each([
    ['public.key', `${noKey}, not PUBLIC KEY)`],
    ['empty', `${noKey})`],
    ['other.key', 'is not the key of the certificate in mqtt.cert_file'],
    ['damaged.key', expect.stringMatching(/^its key cannot be used: [a-z ]+$/)],
    [
      'encrypted.key',
      expect.stringMatching(/^is encrypted, .* openssl pkey -in FILE -out NEWFILE takes it off$/),
    ],
    ['encryptedLongAgo.key', expect.stringMatching(/^is encrypted, /)],
  ])('are told where %s is no key that can be used', (key, words) => {
    const [problem = '', ...others] = problemsOf(client('client.pem', key));
    expect([problem.slice(0, inKey?.length), problem.slice(inKey?.length), others]).toEqual([
      inKey,
      words,
      [],
    ]);
  });
});

describe('the file of the authority', () => {
  it.each([
    ['ca.der', `${noCertificate})`],
    ['ca.key', `${noCertificate}, not PRIVATE KEY)`],
    ['damaged.pem', 'its certificate cannot be read'],
  ])('is told where %s is none, of which TLS says nothing', (file, words) => {
    expect(problemsOf(authority(file))).toEqual([`${inCa}${words}`]);
  });

  it('that is the certificate of the broker instead is told at the start, with the one that signed it', () => {
    const notes = (files: object) => idleOptions(load(files).config);
    expect(notes(authority('ca.pem'))).toEqual([]);
    expect(notes(authority('client.pem'))).toEqual([
      'mqtt.ca_file trusts nobody: what it holds was signed by O=Home, CN=Authority, whose own certificate it lacks',
    ]);
    const careless = { SONIC2MQTT_MQTT__REJECT_UNAUTHORIZED: 'false' };
    expect(notes({ ...authority('client.pem'), ...careless })).toEqual([]);
  });
});
