import { expect, it } from 'vitest';
import { publicWords } from '../../../src/cli/publicWords.ts';

it.each([
  ['written to ann.lee+x@mail.example.org today', 'written to …'],
  ["EACCES: open '/home/ann/config.yaml'", "EACCES: open '…'"],
  ['DNS: no such host water.ann.example', 'DNS: no such host …'],
  ['connection refused by 192.168.7.31:1883', 'connection refused by …'],
  ['the connection to [fe80::1ff:fe23:4567:890a]:1883 was reset', 'the connection to [… was reset'],
  ['call +44 1632 960 000 at 55.12345, -3.9876', 'call … at …'],
  ['its id is not safe in a topic: "Ann\'s tap"', 'its id is not safe in a topic: "…\'s …"'],
  [
    'sonics: the cloud answered 500 (server error): Ann is out',
    'sonics: the cloud answered 500 (server error): … is out',
  ],
  ["the cloud's answer is not JSON: <p>Ann</p>", "the cloud's answer is not JSON: <…>"],
  [
    'filters.properties: the account has no property Hauptstrasse 12; Zürich 李明',
    'filters.properties: the account has no property …',
  ],
  [
    'cloud.pasword (line 4): unknown option. Did you mean cloud.password?',
    '… (line 4): unknown option. Did you mean cloud.password?',
  ],
])('of %j, a report shows %j', (message, shown) => {
  expect(publicWords(message)).toBe(shown);
});

it.each([
  'The cloud rejects the e-mail or the password. Correct them. Next attempt by 22:49 UTC, or when the password file changes',
  'list_sonics: page 2 could not be read: the cloud answered 503 (server error)',
  'the cloud rejects the e-mail or the password (status 401)',
  'No connection to the MQTT broker: connection refused. Check the broker and its port',
  'not authorized. Check mqtt.username and mqtt.password',
  'cloud.email (line 3): must be an e-mail address',
  'self-signed certificate. Check mqtt.ca_file',
])('a report shows all of %j', (message) => {
  expect(publicWords(message)).toBe(message);
});
