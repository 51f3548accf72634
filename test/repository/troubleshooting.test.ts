import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { messagesPage, readExplained } from '../support/explainedLines.ts';
import { readSpoken } from '../support/spokenLines.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const quotes = readExplained(project);
const { lines, sentences, texts } = readSpoken(`${project}src`);

/** What a text is with anything in the place of each `…`. */
const likeOf = (text: string) =>
  new RegExp(`^${text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll('…', '.+')}$`);

describe('the page on troubleshooting', () => {
  it('explains every problem that a line of the log or a reason reports without saying what to do', () => {
    const missing = [...sentences]
      .filter((line) => !quotes.includes(line))
      .map((line) => `${line}  (src/${[...new Set(lines.get(line))].join(', src/')})`);
    expect(sentences.size).toBeGreaterThan(50);
    expect(missing, `${messagesPage}: these lines need an explanation`).toEqual([]);
  });

  it('quotes nothing that the program does not say any more', () => {
    expect(quotes.length).toBeGreaterThan(100);
    expect(quotes.filter((quote) => !texts.has(quote))).toEqual([]);
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
    expect(files('Waiting for the cloud to answer')).toEqual(['health/checks.ts']);
  });

  it('is not what only level debug has', () => {
    expect(texts.has('Webhook called. Updating now')).toBe(true);
    expect(lines.has('Webhook called. Updating now')).toBe(false);
  });
});
