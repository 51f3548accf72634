import { describe, expect, it } from 'vitest';
import { encodeCall, type UncheckedCall } from '../../../src/cloud/request.ts';

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
    const call: UncheckedCall = {
      operation: 'command_valve',
      params: { sonic_id: '..', other: 'x' },
      query: { page: 1 },
      body: { action: 'explode', when: 'now' },
    };
    expect(() => encodeCall(call, {})).toThrow(
      /^params\.other is unknown\. params\.sonic_id must be an ID\. query is not allowed for this operation\. body\.action must be one of open, close\. body\.when is unknown$/,
    );
  });
});
