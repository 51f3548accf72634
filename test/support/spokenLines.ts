import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** What people do not read in the log, in `bridge/health` or from `check`, and where it is told instead. */
const toldElsewhere: readonly (readonly [RegExp, string])[] = [
  [/^simulator\//, 'said to clients of the simulated cloud'],
  [/^entities\//, 'names of entities: docs/reference/entities.md'],
  [/^cloud\/(fields|bodies|catalogue)\.ts$/, 'what operations take: docs/reference/operations.md'],
  [/^config\/(?!warnings)/, 'each problem says what to write: docs/reference/options.md'],
  [
    /^cli\/(?!run|check|cloudChecks|brokerChecks|ownSession|cleanup)/,
    'said to whoever has typed the command',
  ],
  [/^main\.ts$/, 'said to whoever has typed the command'],
  [/^http\/(files|texts)\.ts$/, 'on the status page: docs/status-page.md'],
  [/^http\/metrics\.ts$/, 'help of the metrics: docs/reference/http.md'],
  [/^model\/valveCommand\.ts$/, 'in Home Assistant and on the status page: docs/status-page.md'],
  [/^homeassistant\/(?!command)/, 'topics'],
  [/^base\/(log|secrets|stackTraces|duration)\.ts$/, 'form, not words'],
];

const logged = new Set(['info', 'warn', 'error', 'fatal']);
const unheard = new Set(['debug', 'trace']);

/** What the program can say, with `…` for what differs each time. */
export interface Spoken {
  /** What somebody may read, and each file that says it. */
  readonly lines: ReadonlyMap<string, readonly string[]>;
  /** Those of them that are read by themselves: lines of the log, and sentences. */
  readonly sentences: ReadonlySet<string>;
  /** Every text in the source, lines and words alike. */
  readonly texts: ReadonlySet<string>;
}

/** Reads from the source what the program can say at info, warn and error, and each reason that it gives. */
export function readSpoken(source: string): Spoken {
  const lines = new Map<string, string[]>();
  const sentences = new Set<string>();
  const texts = new Set<string>();
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts'))
    .toSorted();
  for (const file of files) {
    const isTold = !toldElsewhere.some(([pattern]) => pattern.test(file));
    for (const { text, place } of textsIn(file, readFileSync(join(source, file), 'utf8'))) {
      texts.add(text);
      const isLine = place === 'logged' || (place === 'loose' && wordsIn(text) > 1);
      if (!isTold || !isLine) continue;
      lines.set(text, [...(lines.get(text) ?? []), file]);
      if (place === 'logged' || isSentence(text)) sentences.add(text);
    }
  }
  return { lines, sentences, texts };
}

/** Whether it may stand by itself; less is a part of another text. */
const isSentence = (text: string) => wordsIn(text) > (/^[A-Z]/.test(text) ? 3 : 4);

/** As it is quoted: without the blanks at its ends, which Markdown loses. */
const asQuoted = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

function wordsIn(text: string): number {
  return text.match(/(?<![\w/-])[a-z][a-z'-]+/gi)?.length ?? 0;
}

interface Text {
  readonly text: string;
  /** In a call of the log that is heard, in one that is not, or anywhere else. */
  readonly place: 'logged' | 'unheard' | 'loose';
}

function textsIn(file: string, source: string): Text[] {
  const found: Text[] = [];
  const visit = (node: ts.Node, place: Text['place']): void => {
    if (ts.isImportDeclaration(node) || ts.isTypeNode(node)) return;
    const text = textOf(node);
    if (text !== null) found.push({ text: asQuoted(text), place });
    const inside = placeWithin(node, place);
    ts.forEachChild(node, (child) => visit(child, inside));
  };
  visit(ts.createSourceFile(file, source, ts.ScriptTarget.Latest), 'loose');
  return found;
}

function textOf(node: ts.Node): string | null {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return null;
  return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join('');
}

/** Where what is in a node is; what a line is made of is no line itself. */
function placeWithin(node: ts.Node, place: Text['place']): Text['place'] {
  const isWhole = !ts.isCallExpression(node) && !ts.isTemplateExpression(node);
  if (place === 'unheard' || isWhole) return place;
  const called = ts.isCallExpression(node) ? node.expression : null;
  if (!called || !ts.isPropertyAccessExpression(called) || !isLog(called.expression)) return 'loose';
  if (logged.has(called.name.text)) return 'logged';
  return unheard.has(called.name.text) ? 'unheard' : 'loose';
}

function isLog(node: ts.Node): boolean {
  if (ts.isIdentifier(node)) return node.text === 'log';
  return ts.isPropertyAccessExpression(node) && ['log', '#log'].includes(node.name.text);
}
