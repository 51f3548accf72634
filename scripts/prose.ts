// Prints what a maintainer may want to write more plainly, in the pages and in what the program says:  npm run prose
// It only advises: whatever it finds, its exit status is 0, and `npm run check` goes on.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readExplained } from '../test/support/explainedLines.ts';
import { readSpoken } from '../test/support/spokenLines.ts';

const project = fileURLToPath(new URL('..', import.meta.url));
const read = (page: string) => readFileSync(`${project}${page}`, 'utf8');
const pagesIn = (folder: string) =>
  readdirSync(`${project}${folder}`)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);

/** The pages that people read from beginning to end. */
const pages = [
  ...['README.md', 'CONTRIBUTING.md', 'CODE_OF_CONDUCT.md', 'SECURITY.md', 'home-assistant-app/DOCS.md'],
  ...pagesIn('docs'),
];

/** The pages to look something up. */
const references = [...pagesIn('docs/reference'), ...pagesIn('docs/internals')];

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

/** Parts of lines, and words of others that are recognised: nobody reads them by themselves. */
const parts = new Set([
  ...['and others', 'and … more', 'water use', 'pressure tests'],
  ...['open alert', 'Wi-Fi valve', 'pressure test', 'the categories of appliances'],
  ...['MQTT broker', 'MQTT broker …', 'The MQTT broker', 'The MQTT broker …', 'reason code …'],
  ...['cloud: DNS', 'cloud: TCP', 'cloud: TLS', 'cloud: HTTP'],
  ...['the environment', 'from the environment', 'no action'],
  ...['another address', 'an unknown day', 'unknown type'],
  ...['the object …', 'something of … characters', '… has … characters'],
  ...['while connecting', 'within the answer', 'without an answer', '. Did you mean …?'],
  ...['connack timeout', 'Keepalive timeout', 'wrong version number', 'application/json; charset=utf-8'],
  ...['text/event-stream; charset=utf-8', 'image/svg+xml', 'application/manifest+json', 'external+battery'],
  ...['sonic2mqtt.json', 'config.yaml', 'cloud.base_url', 'cloud.password', 'mqtt.reject_unauthorized'],
  ...['mqtt.embedded', 'event: … data: …', '{"now":…,"status":…}'],
]);

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

const lengthOf = (text: string) => text.split(/\s+/).filter((word) => /\w/.test(word)).length;

function lengthsIn(sentences: readonly string[]): string[] {
  return [
    ...sentences.filter((each) => lengthOf(each) > 25).map((each) => `more than 25 words: ${each}`),
    ...sentences.filter((each) => /;(?! charset=)/.test(each)).map((each) => `a semicolon: ${each}`),
  ];
}

/** Each sentence that has one of the words, with the one to write. */
function wordsIn(sentences: readonly string[], wanted: readonly PlainWord[]): string[] {
  return sentences.flatMap((sentence) =>
    wanted.filter(([word]) => word.test(sentence)).map(([, plain]) => `write "${plain}": ${sentence}`),
  );
}

/** What closes a valve by itself needs its limits on its page. One page is in four languages. */
const longerPages: Readonly<Record<string, number>> = {
  'README.md': 700,
  'docs/blueprints.md': 800,
  'docs/leak-languages.md': 700,
  'docs/node-red.md': 800,
};

function sizeOf(page: string): string[] {
  const most = longerPages[page] ?? 600;
  const length = lengthOf(read(page).replaceAll(codeBlocks, ''));
  return length > most ? [`${length} words beside its blocks of code, more than ${most}`] : [];
}

const { lines } = readSpoken(`${project}src`);
const messages = [...lines.keys()];
const plainReferences = references.filter((page) => !page.includes('/internals/'));
const sentencesIn = (page: string) => sentencesOf(read(page));

const findings: readonly (readonly [where: string, found: readonly string[]])[] = [
  ...[...pages, ...references].map((page) => [page, lengthsIn(sentencesIn(page))] as const),
  ...[...plainReferences, 'CHANGELOG.md'].map((page) => [page, wordsIn(sentencesIn(page), words)] as const),
  ...pages.map((page) => [page, wordsIn(sentencesIn(page), [...vendorWords, ...words])] as const),
  ...pages.map((page) => [page, sizeOf(page)] as const),
  ['a message', lengthsIn(messages.flatMap(sentencesOf))],
  ['a message', wordsIn(messages, [...vendorWords, ...words])],
  [
    'a problem without advice, and without a row in docs/reference/messages.md',
    messages.filter((each) => !parts.has(each) && !readExplained(project).includes(each)),
  ],
  ['a part of a message that is not there any more', [...parts].filter((part) => !lines.has(part))],
];
const told = findings.flatMap(([where, found]) => found.map((each) => `prose: ${where}: ${each}`));
for (const line of told) console.log(line);
if (told.length > 0) console.log(`prose: ${told.length} places could be plainer. Nothing has to be changed`);
