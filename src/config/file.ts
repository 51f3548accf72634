import { readFileSync } from 'node:fs';
import {
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  stringify,
  visit,
} from 'yaml';
import { fileMessage } from '../base/systemErrors.ts';
import { type ConfigProblem, missingColon } from './problems.ts';
import type { Path, Tree } from './tree.ts';

export interface ParsedFile {
  /** Undefined if the text is not YAML. */
  readonly value: unknown;
  readonly problems: readonly ConfigProblem[];
  /** The line of an option, or of the nearest section around it; undefined if the file has neither. */
  lineOf(path: Path): number | undefined;
}

// Messages that replace the parser's own ones: those that are hard to understand, or repeat a value, which may be a
// secret.
const explanations: Readonly<Record<string, string>> = {
  'Implicit map keys need to be followed by map values': missingColon,
  MULTILINE_IMPLICIT_KEY: missingColon,
  BLOCK_AS_IMPLICIT_KEY: 'a value that contains ": " must be in quotes, or the next line is indented too far',
  MULTIPLE_DOCS: 'a second document begins here. Remove the line ---',
  TAG_RESOLVE_FAILED: 'tags like !secret are not supported. Use password_file for a secret',
};

const mark = 'a value that begins with & or * must be in quotes';

/** Reads YAML. It reports every fault with its line, and never repeats a value, which may be a secret. */
export function parseFile(source: string): ParsedFile {
  const lineCounter = new LineCounter();
  const document = parseDocument(source, {
    lineCounter,
    prettyErrors: false,
    // Duplicate keys are detected below, where their paths are known.
    uniqueKeys: false,
    stringKeys: true,
    logLevel: 'error',
  });
  const lineAt = (offset: number) => lineCounter.linePos(offset).line;
  const problemAt = (offset: number, message: string): ConfigProblem => ({
    path: [],
    line: lineAt(offset),
    message,
  });
  const unclosed = new Map<number, number>();
  const badMarks: ConfigProblem[] = [];
  const duplicateKeys: ConfigProblem[] = [];
  const addMark = (node: Node, ancestors: readonly unknown[]) =>
    badMarks.push({ path: pathTo(ancestors), line: lineAt(offsetOf(node)), message: mark });
  visit(document, {
    // For YAML, the text after & names the next value, and is no value itself.
    Node(_key, node, ancestors) {
      if ('anchor' in node && node.anchor !== undefined) addMark(node, ancestors);
      if (isAlias(node)) addMark(node, ancestors);
      if (isScalar(node) && node.type?.startsWith('QUOTE') && node.range) {
        unclosed.set(node.range[1], node.range[0]);
      }
    },
    Pair(_key, pair, ancestors) {
      const section = ancestors.at(-1);
      const first = isMap(section)
        ? section.items.find((each) => keyText(each) === keyText(pair))
        : undefined;
      if (first === undefined || first === pair) return;
      const message = `is given twice, first in line ${lineAt(offsetOf(first.key))}`;
      duplicateKeys.push({
        path: [...pathTo(ancestors), keyText(pair)],
        line: lineAt(offsetOf(pair.key)),
        message,
      });
    },
  });
  // After one mistake, the parser reports several faults in the same line.
  const seen = [...document.errors, ...document.warnings].filter(
    ({ pos }, index, all) => all.findIndex((each) => lineAt(each.pos[0]) === lineAt(pos[0])) === index,
  );
  const faults = seen.map(({ code, message, pos: [at] }) => {
    // If a quote is never closed, the parser only notices this at the end of the file.
    const start = message.startsWith('Missing closing') ? (unclosed.get(at) ?? at) : at;
    return problemAt(start, explanations[message] ?? explanations[code] ?? message);
  });
  const problems = [...faults, ...badMarks, ...duplicateKeys];

  function lineOf(path: Path): number | undefined {
    let node: unknown = document.contents;
    let line: number | undefined;
    for (const step of path) {
      const pair: Pair | undefined = isMap(node)
        ? node.items.find((each) => keyText(each) === step)
        : undefined;
      const item: unknown = isSeq(node) ? node.items[Number(step)] : undefined;
      if (!pair && !isNode(item)) break;
      line = lineAt(offsetOf(pair ? pair.key : item));
      node = pair ? pair.value : item;
    }
    return line;
  }

  // If a key or section is given twice, nobody knows which one the user meant, so the file is not used.
  const isReadable = document.errors.length + badMarks.length + duplicateKeys.length === 0;
  return { value: isReadable ? document.toJS() : undefined, problems, lineOf };
}

const keyText = ({ key }: Pair) => (isScalar(key) ? String(key.value) : '');

/** The keys of the sections around a place in the file. */
const pathTo = (ancestors: readonly unknown[]) => ancestors.filter(isPair).map(keyText);

const offsetOf = (node: unknown) => (isNode(node) ? (node.range?.[0] ?? 0) : 0);

const head = `# Configuration of sonic2mqtt. All other options have defaults:
# https://github.com/sonic2mqtt/sonic2mqtt/blob/main/docs/reference/options.md

`;

/** The text of a new configuration file. Values are quoted, so that none has a special meaning in YAML. */
export function newConfigFile(options: Tree): string {
  return (
    head + stringify(options, { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN', lineWidth: 0 })
  );
}

/** The text of a file, without a byte order mark. Throws an error that says which file cannot be read, and why. */
export function readTextFile(path: string): string {
  return textOf(path, readBytes(path));
}

/** The text of a file with these bytes. Throws like `readTextFile`. */
export function textOf(path: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    // The cloud would only reject a password in another encoding, without saying why.
    throw new Error(`cannot read ${path}: it is not UTF-8`, { cause });
  }
}

/** The bytes of a file. Throws like `readTextFile`. */
export function readBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new Error(`cannot read ${path}: ${fileMessage(cause)}`, { cause });
  }
}
