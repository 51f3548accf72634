import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const project = fileURLToPath(new URL('../..', import.meta.url));

/** The pages that people read from beginning to end. */
const pages = [
  ...['README.md', 'CONTRIBUTING.md', 'CODE_OF_CONDUCT.md', 'SECURITY.md', 'home-assistant-app/DOCS.md'],
  ...readdirSync(`${project}docs`)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** The pages to look something up; messages are quoted and explained as the program changes. */
const references = ['docs/reference', 'docs/internals']
  .flatMap((folder) => readdirSync(`${project}${folder}`).map((name) => `${folder}/${name}`))
  .filter((page) => page !== 'docs/reference/messages.md');

/** Words with a plainer one beside them. A page may name the vendor's words once, in italics: valve (*sonic*). */
const words: readonly (readonly [RegExp, string])[] = [
  [/\bsonics?\b/, 'valve'],
  [/\bsignals?\b/i, 'hub'],
  [/\b(?:homes?|houses?)\b(?! Assistant| screen| network)(?<!\bat home)/i, 'property'],
  [/\bthings?\b/i, 'the noun'],
  [/\b(?:away|gone|lost|silent|not there)\b|\b(?:is|are|was|were|goes) down\b/i, 'offline, unreachable'],
  [/\b(?:poll\w*|crawl\w*|look(?:s|ed) at|ask(?:s|ed|ing)?)\b/i, 'read, request'],
  [/\b(?:tells?|told|telling|says?|said|saying|speaks? of)\b/i, 'report, show, log'],
  [/\b(?:refus\w+|turn(?:s|ed)? away|not taken?)\b/i, 'reject'],
  [/\b(?:mend\w*|withdr\w+|sweep\w*|swept)\b/i, 'fix, remove'],
  [
    /\b(?:at first|for good|to the letter|anew|besides)\b|\bin all(?=[.,:]|$)/i,
    'by default, in total, exactly, again',
  ],
  [/\b(?:some (?=[\d,]+ )|within some|telephones?)\b/i, 'about, within, phone'],
  [/, such as\b|\bas in\b/i, 'for example'],
];

const codeBlocks = /^ *```.*?^ *```$/gms;

/** The sentences of a page, without code, addresses and comments. A name in italics counts as one word. */
function sentencesOf(text: string): string[] {
  const prose = text
    .replaceAll(/<!--.*?-->/gs, '')
    .replaceAll(codeBlocks, '\n')
    .replaceAll(/<img [^>]*alt="([^"]*)"[^>]*>/g, '$1')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/`[^`]+`/g, 'code')
    .replaceAll('**', '')
    .replaceAll(/(?<!\w)\*[^*\n]+\*/g, 'name');
  return prose
    .split(/\n\s*\n|\n(?=\s*(?:[-*#|>]|\d+\.)\s*)| \| |<br>/)
    .flatMap((block) => block.replaceAll(/\s+/g, ' ').split(/(?<=[.!?]) /))
    .map((sentence) => sentence.replace(/^ *(?:[-*#|>]+|\d+\.)? */, '').trim())
    .filter((sentence) => /[a-z]/i.test(sentence));
}

const sentencesIn = (page: string) => sentencesOf(readFileSync(`${project}${page}`, 'utf8'));
const lengthOf = (sentence: string) => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length;

it.each([...pages, ...references])('%s has sentences of at most 25 words, and no semicolons', (page) => {
  const sentences = sentencesIn(page);
  expect(sentences.filter((sentence) => lengthOf(sentence) > 25)).toEqual([]);
  expect(sentences.filter((sentence) => sentence.includes(';'))).toEqual([]);
});

describe.each(pages)('%s', (page) => {
  const sentences = sentencesIn(page);

  it('is at most 600 words beside its blocks of code, or 700 for the README', () => {
    const text = readFileSync(`${project}${page}`, 'utf8').replaceAll(codeBlocks, '');
    expect(lengthOf(text)).toBeLessThanOrEqual(page === 'README.md' ? 700 : 600);
  });

  it('has one word for one thing, and plain ones', () => {
    const found = sentences.flatMap((sentence) =>
      words.filter(([word]) => word.test(sentence)).map(([, plain]) => `${sentence} (write: ${plain})`),
    );
    expect(found).toEqual([]);
  });
});
