import { describe, expect, it } from 'vitest';
import { Secrets } from '../../../src/base/secrets.ts';
import { hidePrivateFields, standInForRecords } from '../../../src/cli/privateFields.ts';
import { StandIns } from '../../../src/cli/standIns.ts';

function standIns(known: Readonly<Record<string, string>> = {}): StandIns {
  const all = new StandIns(new Secrets());
  for (const [text, standIn] of Object.entries(known)) all.set(text, standIn);
  return all;
}

describe('words for a bug report', () => {
  it.each([
    ['written to ann.lee+x@mail.example.org today', 'written to [e-mail] today'],
    ["EACCES: open '/home/ann/config.yaml'", "EACCES: open '[path]'"],
    ['no such host water.ann.example', 'no such host [host]'],
    ['refused by 192.168.7.31:1883', 'refused by [IP address]:1883'],
    ['refused by [fe80::1ff:fe23:4567:890a]:1883', 'refused by [[IP address]]:1883'],
    ['seen at 00:1A:2b:3c:4D:5e', 'seen at [hardware address]'],
    ['call +44 1632 960 000 or 01632 960-000', 'call [telephone number] or [telephone number]'],
    ['at 55.12345, -3.9876', 'at [coordinate], [coordinate]'],
    ['incident 0b8f6f0e-1111-4222-8333-444455556666 of it', 'incident id-1 of it'],
    ['with eyJhbGciOiJIUzI1NiIsInR5cCI6', 'with [code]'],
    ['its id is not safe in a topic: "Ann\'s tap"', 'its id is not safe in a topic: "…"'],
    [
      'the cloud answered 500 (the cloud is in trouble): Ann is out; call her',
      'the cloud answered 500 (the cloud is in trouble): [not told here]',
    ],
    [
      "sonics: the cloud's answer is not JSON: <p>Ann</p>",
      "sonics: the cloud's answer is not JSON: [not told here]",
    ],
    [
      'filters.properties: the account has no property Hauptstrasse 12; Zürich',
      'filters.properties: the account has no property [not told here]',
    ],
    [
      'filters.properties: the account has no property [filter 1], Hauptstrasse 12',
      'filters.properties: the account has no property [not told here]',
    ],
  ])('are, of %j, %j', (words, shown) => {
    expect(standIns().hide(words)).toBe(shown);
  });

  it.each([
    'next attempt at 2026-11-21T22:49:24.157Z, or at 03:00:00',
    'mqtt.url and cloud.base_url of config.yaml; state.json.bak',
    'filters.properties: the account has no property [filter 2]; filters.properties: the account has no property [filter 3]',
    'filters.properties: the account has no property [filter 1], [filter 2] and others; no signal (hub) in property-1',
    'page 2 could not be read: the cloud answered 503 (the cloud is in trouble)',
    'timeout: no connection to 127.0.0.1:8080 or localhost or [::1]',
    'valve_state says "half_open"',
    'Node v20.20.2 on version 1.12.3-rc.1, 10000 records',
  ])('keep what tells of nobody: %j', (words) => {
    expect(standIns().hide(words)).toBe(words);
  });

  it('have the same stand-in for the same thing, in whichever case, and only for the whole of it', () => {
    const all = standIns({ Kitchen: 'sonic-1', 'Kitchen tap': 'sonic-2', 李明: 'sonic-3', x: 'sonic-4' });
    expect(all.hide('KITCHEN, the kitchen tap and 李明; kitchens (x)')).toBe(
      'sonic-1, the sonic-2 and sonic-3; kitchens (x)',
    );
    const id = '0b8f6f0e-1111-4222-8333-444455556666';
    expect(all.hide(`${id} and ${id.toUpperCase()}`)).toBe('id-1 and id-1');
  });

  it('have stand-ins for names with everything that a pattern or a line could take amiss', () => {
    const name = 'A+B (old)\n[x]';
    const all = standIns({ [name]: 'sonic-1' });
    expect(all.hide('no signal in A+B (old)\\u000a[x].')).toBe('no signal in sonic-1.');
  });
});

describe('records', () => {
  const old = { id: 'b', name: 'Attic', created_at: '2020-01-01T00:00:00Z' };
  const young = { id: 'a', name: 'Cellar', created_at: '2021-01-01T00:00:00Z' };

  it('are numbered by their age, so that a new one renames none', () => {
    const all = standIns();
    standInForRecords(all, 'sonic', [young, old]);
    expect([all.of('Attic'), all.of('Cellar')]).toEqual(['sonic-1', 'sonic-2']);
  });

  it('are hidden in all their texts but those of the protocol, also where nobody knows the field', () => {
    const all = standIns();
    const record = {
      valve_state: 'open',
      postcode: 'ZZ99 1ZZ',
      lat: 55.5,
      radio_rssi: 12345,
      network: { ssid: 'Ann at home', 'Ann again': ['her phone'] },
    };
    hidePrivateFields(all, record);
    expect(all.hide('open ZZ99 1ZZ 55.5 12345 Ann at home her phone')).toBe(
      'open [postcode] [coordinate] 12345 [ssid] [text]',
    );
  });
});
