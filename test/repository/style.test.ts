import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readSpoken } from '../support/spokenLines.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));

/** The pages that people read from beginning to end. */
const pages = [
  ...['README.md', 'CONTRIBUTING.md', 'CODE_OF_CONDUCT.md', 'SECURITY.md', 'home-assistant-app/DOCS.md'],
  ...readdirSync(`${project}docs`)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** The pages to look something up. */
const references = ['docs/reference', 'docs/internals'].flatMap((folder) =>
  readdirSync(`${project}${folder}`).map((name) => `${folder}/${name}`),
);

type PlainWord = readonly [RegExp, string];

/** The vendor's words, which references need. A page may name them once, in italics: valve (*sonic*). */
const vendorWords: readonly PlainWord[] = [
  [/\bsonics?\b/, 'valve'],
  [/\bsignals?\b/i, 'hub'],
  [/\b(?:homes?|houses?)\b(?! Assistant| screen| network)(?<!\bat home)/i, 'property'],
  [/\bthings?\b/i, 'the noun'],
];

/** Words with a plainer one beside them. `Connection to hub lost` is the name of an entity, `connection refused` of an error. */
const words: readonly PlainWord[] = [
  [
    /\b(?:away|gone|(?<!Connection to (?:hub|cloud) )lost|silent|not there)\b|\b(?:is|are|was|were|goes) down\b/i,
    'offline, unreachable',
  ],
  [/\b(?:poll\w*|crawl\w*|look(?:s|ed) at|ask(?:s|ed|ing)?)\b/i, 'read, request'],
  [/\b(?:tells?|told|telling|says?|said|saying|speaks? of)\b/i, 'report, show, log'],
  [/\b(?:(?<!connection )refus\w+|turn(?:s|ed)? away|not taken?)\b/i, 'reject'],
  [/\b(?:mend\w*|withdr\w+|sweep\w*|swept)\b/i, 'fix, remove'],
  [
    /\b(?:at first|for good|to the letter|anew|besides)\b|\bin all(?=[.,:]|$)/i,
    'by default, in total, exactly, again',
  ],
  [/\b(?:some (?=[\d,]+ )|within some|telephones?)\b/i, 'about, within, phone'],
  [/, such as\b|\bas in\b/i, 'for example'],
  [/\b(?:whoever|whatever|somebody|anybody)\b/i, 'anyone who, everything that'],
  [/\bwhere (?:there|it) (?:is|are)\b/i, 'if'],
  [/\b(?:fares?|pretends?|lets? in|to be had|befell)\b/i, 'works, shows, accepts'],
];

/** Each sentence of a page that has one of the words, with the one to write. */
function foundIn(page: string, wanted: readonly PlainWord[]): string[] {
  return wordsIn(sentencesIn(page), wanted);
}

function wordsIn(sentences: readonly string[], wanted: readonly PlainWord[]): string[] {
  return sentences.flatMap((sentence) =>
    wanted.filter(([word]) => word.test(sentence)).map(([, plain]) => `${sentence} (write: ${plain})`),
  );
}

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

it.each([...references.filter((page) => !page.includes('/internals/')), 'CHANGELOG.md'])(
  '%s has plain words',
  (page) => expect(foundIn(page, words)).toEqual([]),
);

describe('messages of the program', () => {
  const messages = [...readSpoken(`${project}src`).lines.keys()];

  it('have sentences of at most 25 words, and no semicolons', () => {
    const sentences = messages.flatMap(sentencesOf);
    expect(sentences.length).toBeGreaterThan(200);
    expect(sentences.filter((sentence) => lengthOf(sentence) > 25)).toEqual([]);
    expect(messages.filter((message) => /;(?! charset=)/.test(message))).toEqual([]);
  });

  it('have plain words, and one word for one thing', () => {
    expect(wordsIn(messages, [...vendorWords, ...words])).toEqual([]);
  });
});

/** What closes a valve by itself needs its limits on its page. */
const longerPages: Readonly<Record<string, number>> = {
  'README.md': 700,
  'docs/blueprints.md': 800,
  'docs/node-red.md': 800,
};

describe.each(pages)('%s', (page) => {
  it('is at most 600 words beside its blocks of code, unless it may be longer', () => {
    const text = readFileSync(`${project}${page}`, 'utf8').replaceAll(codeBlocks, '');
    expect(lengthOf(text)).toBeLessThanOrEqual(longerPages[page] ?? 600);
  });

  it('has one word for one thing, and plain ones', () => {
    expect(foundIn(page, [...vendorWords, ...words])).toEqual([]);
  });
});
