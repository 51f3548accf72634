import { expect, it } from 'vitest';
import { file, languageOf } from '../../../src/http/files.ts';
import { httpRequest } from '../../support/httpRequest.ts';
import { startHttpServer } from '../../support/httpServer.ts';

it.each([
  ['de-CH,de;q=0.9,en;q=0.8', 'de'],
  ['it-IT,it;q=0.9,FR;q=0.8,en;q=0.7', 'fr'],
  ['en;q=0.2, nl;q=0.7, pl ; q=0.9', 'pl'],
  ['nl;q=0, it', 'en'],
  ['it,es;q=0.5', 'en'],
  ['*', 'en'],
  ['den,plx', 'en'],
  ['', 'en'],
  [undefined, 'en'],
])('a browser that accepts %s gets the page in %s', (accepted, language) => {
  expect(languageOf(accepted)).toBe(language);
});

it('a file that depends on the language comes in that of the browser, and says so', async () => {
  const { url } = await startHttpServer([file('/', 'text/plain', (language) => `in ${language}`)]);
  const german = await httpRequest(`${url}/`, { headers: { 'accept-language': 'de' } });
  expect([german.text, german.headers['content-language']]).toEqual(['in de', 'de']);
  expect(german.headers['vary']).toContain('accept-language');
  expect(await httpRequest(`${url}/`)).toMatchObject({
    text: 'in en',
    headers: { 'content-language': 'en' },
  });
});

it('a file is compressed if the browser takes that, and a small one never', async () => {
  const long = 'water '.repeat(500);
  const { url } = await startHttpServer([
    file('/long', 'text/plain', long),
    file('/short', 'text/plain', 'ok'),
  ]);
  const sizeOf = async (path: string, encoding: string) => {
    const { headers } = await httpRequest(url + path, { headers: { 'accept-encoding': encoding } });
    return [headers['content-encoding'], Number(headers['content-length'])];
  };
  const [encoding, size] = await sizeOf('/long', 'gzip, deflate, br');
  expect([encoding, Number(size) < 100]).toEqual(['gzip', true]);
  // fetch asks for it, and unpacks it.
  expect(await (await fetch(`${url}/long`)).text()).toBe(long);
  for (const other of ['identity', 'gzip;q=0', 'gzip; q=0'])
    expect(await sizeOf('/long', other)).toEqual([undefined, long.length]);
  expect(await sizeOf('/short', 'gzip')).toEqual([undefined, 2]);
});
