import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readSpoken } from '../support/spokenLines.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const page = 'docs/reference/messages.md';
const [, explained = ''] = readFileSync(`${project}${page}`, 'utf8').split('\n## All messages\n');
const { lines, texts } = readSpoken(`${project}src`);

/** Parts of lines, and words of others that are recognised: nobody reads them by themselves. */
const parts = new Set([
  ...['and others', 'and … more', 'The account', 'This bridge', 'water use', 'pressure tests'],
  ...['open incident', 'Wi-Fi valve', 'pressure test', 'hubs and categories', 'the categories of appliances'],
  ...['MQTT broker', 'MQTT broker …', 'The MQTT broker', 'The MQTT broker …', 'reason code …'],
  ...['cloud: DNS', 'cloud: TCP', 'cloud: TLS', 'cloud: proxy', 'cloud: HTTP', '… through the proxy …'],
  ...['the environment', 'from the environment'],
  ...['another address', 'an unknown day', 'unknown type'],
  ...['the object …', 'something of … characters', '… has … characters'],
  ...['while connecting', 'within the answer', 'without an answer', '. Did you mean …?'],
  ...['connack timeout', 'Keepalive timeout', 'wrong version number', 'application/json; charset=utf-8'],
  ...['text/event-stream; charset=utf-8', 'image/svg+xml', 'application/manifest+json', 'external+battery'],
  ...[
    'state.json',
    'config.yaml',
    'cloud.base_url',
    'cloud.password',
    'no action',
    'mqtt.reject_unauthorized',
    'mqtt.embedded',
  ],
  ...['event: … data: …', '{"now":…,"status":…}'],
]);

/** What the tables explain: the code in the first cell of each row, as far as it was written. */
const quotes = explained
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
  .flatMap((row) => [...(row.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g)])
  .map(([, quote = '']) => quote);

/** What a text is with anything in the place of each `…`. */
const likeOf = (text: string) =>
  new RegExp(`^${text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll('…', '.+')}$`);

describe('the page on troubleshooting', () => {
  it('explains every line that the log can have, and every reason that is given', () => {
    const missing = [...lines]
      .filter(([line]) => !quotes.includes(line) && !parts.has(line))
      .map(([line, files]) => `${line}  (src/${[...new Set(files)].join(', src/')})`);
    expect(missing, `${page}: these lines need an explanation`).toEqual([]);
  });

  it('quotes nothing that the program does not say any more', () => {
    expect(quotes.length).toBeGreaterThan(200);
    expect(quotes.filter((quote) => !texts.has(quote))).toEqual([]);
    expect([...parts].filter((part) => !lines.has(part))).toEqual([]);
  });

  it('is led to by a page of problems, whose headings quote messages as they are', () => {
    const problems = readFileSync(`${project}docs/troubleshooting.md`, 'utf8');
    const headings = [...problems.matchAll(/^### `(.*)`$/gm)].map(([, quote = '']) => quote);
    expect(headings.length).toBeGreaterThan(5);
    expect(headings.filter((heading) => ![...texts].some((text) => text.startsWith(heading)))).toEqual([]);
  });

  it('is not the only page that quotes messages as they are', () => {
    const pages = readdirSync(`${project}docs`).filter((name) => name.endsWith('.md'));
    const quoted = pages.flatMap((name) => [
      ...readFileSync(`${project}docs/${name}`, 'utf8').matchAll(
        /`(?!OK )([A-Z][^`\n]* [^`\n]*)`|^ *INFO: (.*)$/gm,
      ),
    ]);
    const said = [...texts].filter((text) => /^[A-Z]/.test(text));
    const isSaid = (quote: string) =>
      said.some((text) => text.startsWith(quote.replace(/ ?…$/, '')) || likeOf(text).test(quote));
    const wrong = quoted.map(([, code, line]) => code ?? line ?? '').filter((quote) => !isSaid(quote));
    expect(quoted.length).toBeGreaterThan(10);
    // That is Home Assistant's own.
    expect(wrong.filter((quote) => !quote.startsWith('Cannot rename statistic_id'))).toEqual([]);
  });

  it('explains each line once', () => {
    expect(quotes.filter((quote, index) => quotes.indexOf(quote) !== index)).toEqual([]);
  });
});

describe('what the program says', () => {
  it('is found in calls of the log, in tables of words and in reasons', () => {
    const files = (line: string) => lines.get(line);
    expect(files('Signed in to the cloud')).toEqual(['cloud/session.ts']);
    expect(files('…: …. Retrying')).toEqual(['base/outageLog.ts']);
    expect(files('no such host')).toEqual(['base/systemErrors.ts']);
    expect(files('Stopping')).toEqual(['cli/run.ts']);
    expect(files('Waiting for the cloud to answer')).toEqual(['health/health.ts']);
  });

  it('is not what only level debug has', () => {
    expect(texts.has('Webhook called. Updating now')).toBe(true);
    expect(lines.has('Webhook called. Updating now')).toBe(false);
  });
});
