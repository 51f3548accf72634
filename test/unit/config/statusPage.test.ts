import { expect, it } from 'vitest';
import { statusPageUrl } from '../../../src/config/statusPage.ts';
import { listenAddress } from '../../../src/config/values.ts';

it.each([
  ['192.168.1.5:8099', 'http://192.168.1.5:8099/'],
  ['[fd00::5]:8099', 'http://[fd00::5]:8099/'],
  ['water.home.example:80', 'http://water.home.example/'],
  ['0.0.0.0:8099', null],
  ['0:8099', null],
  ['[::]:8099', null],
  ['[0:0::0]:8099', null],
  ['127.0.0.1:8099', null],
  ['localhost:8099', null],
  ['[::1]:8099', null],
  ['192.168.1.5:0', null],
  ['%:8099', null],
])('a page that is served on %s has the address %s for a browser on another machine', (written, url) => {
  expect(statusPageUrl({ http: { listen: listenAddress.parse(written) } })).toBe(url);
});

it('a page that is not served has none', () => {
  expect(statusPageUrl({ http: { listen: null } })).toBeNull();
});
