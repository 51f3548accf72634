import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/**
 * Files whose texts do not appear in the log, in `bridge/health` or in the output of `check`, and where these
 * texts appear instead.
 */
const documentedElsewhere: readonly (readonly [RegExp, string])[] = [
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
  [/^homeassistant\/(?!command)/, 'topics'],
  [/^base\/(log|secrets|duration)\.ts$/, 'form, not words'],
];

const logged = new Set(['warn', 'error', 'fatal']);
const hidden = new Set(['debug', 'trace']);

/** The texts in the source of the program. `…` stands for a part that differs each time. */
export interface SourceTexts {
  /** The texts that users may read, each with the files that contain it. */
  readonly lines: ReadonlyMap<string, readonly string[]>;
  /** The texts among them that stand alone, report a problem, and do not say what to do. */
  readonly sentences: ReadonlySet<string>;
  /** Every text in the source. */
  readonly texts: ReadonlySet<string>;
}

/** Reads from the source all messages at info, warn and error, and all reasons that the program gives. */
export function readSpoken(source: string): SourceTexts {
  const lines = new Map<string, string[]>();
  const sentences = new Set<string>();
  const texts = new Set<string>();
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts'))
    .toSorted();
  for (const file of files) {
    const isInMessages = !documentedElsewhere.some(([pattern]) => pattern.test(file));
    for (const { text, place } of textsIn(file, readFileSync(join(source, file), 'utf8'))) {
      texts.add(text);
      const isLine = ['logged', 'informed'].includes(place) || (place === 'other' && wordsIn(text) > 1);
      if (!isInMessages || !isLine) continue;
      lines.set(text, [...(lines.get(text) ?? []), file]);
      const isProblem = place === 'logged' || (place === 'other' && isSentence(text));
      if (isProblem && !hasAdvice(text)) sentences.add(text);
    }
  }
  return { lines, sentences, texts };
}

/** Whether a text can stand alone. A shorter text is only a part of another one. */
const isSentence = (text: string) => wordsIn(text) > (/^[A-Z]/.test(text) ? 3 : 4);

/** Whether one of its sentences says what to do, after the one that says what has happened. */
const hasAdvice = (text: string) => advice.test(text);

const advice =
  /[.…;] (Add|Allow|Ask|Change|Check|Choose|Close|Correct|Delete|Did you mean|Enter|Give|Increase|Install|Look|Make sure|Move|Open|Rename|Remove|Report|Resolve|Restart|Restore|Run|Set|Send|Sign in|Start|Stop|Then|Turn|Uninstall|Update|Use|Wait)\b/;

/** The text as Markdown shows it, without blanks at its ends. */
const asQuoted = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

function wordsIn(text: string): number {
  return text.match(/(?<![\w/-])[a-z][a-z'-]+/gi)?.length ?? 0;
}

interface Text {
  readonly text: string;
  /** In a log call about a problem, about nothing bad, in one that users do not see, or anywhere else. */
  readonly place: 'logged' | 'informed' | 'hidden' | 'other';
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
  visit(ts.createSourceFile(file, source, ts.ScriptTarget.Latest), 'other');
  return found;
}

function textOf(node: ts.Node): string | null {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return null;
  return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join('');
}

/** The place of the children of a node. The parts of a line are no lines themselves. */
function placeWithin(node: ts.Node, place: Text['place']): Text['place'] {
  const isWhole = !ts.isCallExpression(node) && !ts.isTemplateExpression(node);
  if (place === 'hidden' || isWhole) return place;
  const called = ts.isCallExpression(node) ? node.expression : null;
  if (!called || !ts.isPropertyAccessExpression(called) || !isLog(called.expression)) return 'other';
  if (logged.has(called.name.text)) return 'logged';
  if (called.name.text === 'info') return 'informed';
  return hidden.has(called.name.text) ? 'hidden' : 'other';
}

function isLog(node: ts.Node): boolean {
  if (ts.isIdentifier(node)) return node.text === 'log';
  return ts.isPropertyAccessExpression(node) && ['log', '#log'].includes(node.name.text);
}
