import { describe, expect, it } from 'vitest';
import { among } from '../../../src/http/addresses.ts';

describe('the addresses that are answered', () => {
  it.each([
    [[], '203.0.113.7', true],
    [['172.30.32.2'], '172.30.32.2', true],
    [['172.30.32.2'], '::ffff:172.30.32.2', true],
    [['172.30.32.2'], '172.30.32.1', false],
    [['172.30.32.2'], '', false],
    [['192.168.1.0/24', '::1'], '192.168.1.255', true],
    [['192.168.1.0/24', '::1'], '192.168.2.1', false],
    [['192.168.1.0/24', '::1'], '::1', true],
    [['fd00::/8'], 'fdff::1', true],
    [['fd00::/8'], 'fe80::1', false],
  ])('of %j: %s, %s', (networks, address, isAnswered) => {
    expect(among(networks)(address)).toBe(isAnswered);
  });
});
