import { expect, it } from 'vitest';
import { proxyFor } from '../../../src/config/proxy.ts';

const cloud = 'https://api.example.com';
const plain = 'http://api.example.com:8080';
const both = { HTTPS_PROXY: 'http://secure:3128', HTTP_PROXY: 'http://plain:3128' };

it.each<[string, NodeJS.ProcessEnv, string | null]>([
  [cloud, {}, null],
  [cloud, both, 'http://secure:3128/'],
  [plain, both, 'http://plain:3128/'],
  [plain, { HTTPS_PROXY: 'http://secure:3128' }, null],
  [cloud, { HTTP_PROXY: 'http://plain:3128' }, 'http://plain:3128/'],
  [cloud, { ...both, https_proxy: 'https://lower:3129' }, 'https://lower:3129/'],
  [cloud, { ...both, https_proxy: '' }, 'http://plain:3128/'],
  [cloud, { HTTPS_PROXY: 'proxy:3128' }, 'http://proxy:3128/'],
  [cloud, { ...both, NO_PROXY: '*' }, null],
  [cloud, { ...both, NO_PROXY: 'localhost, example.com' }, null],
  [cloud, { ...both, NO_PROXY: '.example.com' }, null],
  [cloud, { ...both, NO_PROXY: '*.example.com' }, null],
  [cloud, { ...both, NO_PROXY: 'ample.com,,' }, 'http://secure:3128/'],
  [cloud, { ...both, NO_PROXY: 'API.example.com:443' }, null],
  [cloud, { ...both, NO_PROXY: 'api.example.com:8443' }, 'http://secure:3128/'],
  [cloud, { ...both, NO_PROXY: 'api.example.com', no_proxy: '' }, 'http://secure:3128/'],
  [plain, { ...both, NO_PROXY: 'api.example.com:8080' }, null],
  ['http://127.0.0.1:8080', both, null],
  ['https://localhost', both, null],
])('%s with %j is reached through %s', (url, env, expected) => {
  expect(proxyFor(new URL(url), env)?.href ?? null).toBe(expected);
});

it.each(['socks5://proxy:1080', 'http://', ':::'])('%s is no HTTP proxy', (value) => {
  expect(() => proxyFor(new URL(cloud), { HTTPS_PROXY: value })).toThrow('HTTPS_PROXY: must be the address');
});
