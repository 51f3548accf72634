import { describe, expect, it } from 'vitest';
import { CloudError } from '../../../src/cloud/errors.ts';
import { encodeCall, readRoute, type UncheckedCall } from '../../../src/cloud/request.ts';

const readSonic = (sonic_id: unknown): UncheckedCall => ({ operation: 'read_sonic', params: { sonic_id } });

describe('a path parameter', () => {
  it.each([
    [''],
    ['.'],
    ['..'],
    ['a/b'],
    ['a\\b'],
    ['a\nb'],
    ['%2e%2e'],
    ['..;'],
    [' .. '],
    ['\ud800'],
    [7],
    [null],
    [undefined],
    [{}],
    ['x'.repeat(257)],
  ])('%j is refused', (value) => {
    expect(() => encodeCall(readSonic(value), {})).toThrow(/^params\.sonic_id (must be an ID|is missing)$/);
  });
});

describe('a call that is wrong', () => {
  it('is refused with every fault in words', () => {
    const call = {
      operation: 'command_valve',
      params: { sonic_id: '..', other: 'x' },
      query: { page: 1 },
      body: { action: 'explode', when: 'now' },
    };
    expect(() => encodeCall(call, {})).toThrow(
      /^params\.other is unknown\. params\.sonic_id must be an ID\. query is not allowed for this operation\. body\.action must be one of open, close\. body\.when is unknown$/,
    );
  });

  it('is refused in one line with a suggestion where nobody knows its name', () => {
    const refusal = (operation: string) => () => encodeCall({ operation }, {});
    expect(refusal('list_incident')).toThrow(
      /^there is no operation list_incident. Did you mean list_incidents\?$/,
    );
    expect(refusal('a\nb')).toThrow(/^there is no operation a b$/);
    expect(refusal('x'.repeat(70_000))).toThrow(/^there is no operation x{80}…$/);
    for (const name of ['__proto__', 'constructor', 'toString', ''])
      expect(refusal(name)).toThrow(CloudError);
  });
});

describe('an override of a route', () => {
  it.each([
    ...['/no/method', 'FETCH /x', 'GET x', 'GET /x?y=1', 'GET /x y', 'GET /{signal_id}', ''],
    // No request line can hold these.
    ...['GET /ü', 'GET /x\u00a0y', 'GET /x\0', 'GET /\u2028x', 'GET  /x', 'GET //x y'],
  ])('%j is refused in words', (override) => {
    expect(readRoute('read_sonic', override)).toBeTypeOf('string');
    expect(() => encodeCall(readSonic('s-1'), { read_sonic: override })).toThrow(
      /^cloud\.routes\.read_sonic: /,
    );
  });
});
