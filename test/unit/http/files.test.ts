import { expect, it } from 'vitest';
import { file, languageOf } from '../../../src/http/files.ts';
import { httpRequest } from '../../support/httpRequest.ts';
import { startHttpServer } from '../../support/httpServer.ts';

it.each([
  ['de-CH,de;q=0.9,en;q=0.8', 'de'],
  ['it-IT,it;q=0.9,FR;q=0.8,en;q=0.7', 'fr'],
  ['en;q=0.2, nl;q=0.7, pl ; q=0.9', 'pl'],
  ['nl;q=0, en;q=0.1, de;q=0.05', 'en'],
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
  expect(german.headers['vary']).toBe('accept-language');
  expect(await httpRequest(`${url}/`)).toMatchObject({
    text: 'in en',
    headers: { 'content-language': 'en' },
  });
});
