import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, type Pair, parseDocument, visit } from 'yaml';
import { missingColon, type Problem } from './problems.ts';
import type { Path } from './tree.ts';

/** A YAML file as read; `value` is undefined when the text is not YAML at all. */
export interface ParsedFile {
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** The line of an option, or of the nearest section around it; undefined when none of it is in the file. */
  lineOf(path: Path): number | undefined;
  /**
   * The line of an option whose value is not in quotes and ends at a #, which YAML takes for the beginning of a comment;
   * undefined for any other.
   */
  lineCutShort(path: Path): number | undefined;
}

// The parser's own sentences are for people who know YAML; those that users meet most are put in other words.
const explanations: Readonly<Record<string, string>> = {
  'Missing closing "quote': 'a value begins with " that does not end with it',
  "Missing closing 'quote": "a value begins with ' that does not end with it",
  'Implicit map keys need to be followed by map values': missingColon,
  TAB_AS_INDENT: 'a tab is used for indentation; use spaces',
  BAD_SCALAR_START: 'a value that begins with @, % or ` must be in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'a value that holds ": " must be in quotes; or else the next line is indented too far',
  MULTILINE_IMPLICIT_KEY: missingColon,
  UNEXPECTED_TOKEN: 'there is something after the end of a value; put the whole value in quotes',
  BAD_INDENT: 'the indentation does not fit the lines around it',
  MULTIPLE_DOCS: 'a second document begins here; remove the line ---',
  TAG_RESOLVE_FAILED: 'tags such as !secret mean nothing here; a secret can be given as password_file',
};

/** Indentation, brackets or marks of a line: deeper than anybody means, long before the parser runs out of its stack. */
const tooDeep = /^ {200}|^ *(?:[-?:] +){50}|(?:[[{][^[{\]}]*){50}/m;

/** Reads YAML; says every fault with its line, and never repeats a value, which may be a secret. */
export function parseFile(source: string): ParsedFile {
  const depths = tooDeep.exec(source);
  if (depths) {
    const line = source.slice(0, depths.index).split('\n').length;
    const problem = { path: [], line, what: 'what begins here is nested too deeply' };
    return { value: undefined, problems: [problem], lineOf: () => undefined, lineCutShort: () => undefined };
  }
  const lineCounter = new LineCounter();
  const document = parseDocument(source, {
    lineCounter,
    prettyErrors: false,
    stringKeys: true,
    uniqueKeys: false,
    logLevel: 'error',
  });
  const lineAt = (offset: number) => lineCounter.linePos(offset).line;

  /** Where what ends there begins, if it is in quotes: one that nothing closes is noticed at the end of the file. */
  function startOfQuoted(end: number): number {
    let start = end;
    visit(document, {
      Scalar: (_key, { type, range }) => {
        if (type?.startsWith('QUOTE') && range?.[1] === end) start = range[0];
      },
    });
    return start;
  }

  const faults = [...document.errors, ...document.warnings].map(
    ({ code, message, pos }): Problem => ({
      path: [],
      line: lineAt(startOfQuoted(pos[0])),
      what: explanations[message] ?? explanations[code] ?? message,
    }),
  );

  function structuralFaults(node: unknown, path: Path): Problem[] {
    if (isAlias(node)) {
      const what =
        'a value that begins with * must be in quotes; unquoted it refers to something named above';
      return node.resolve(document) ? [] : [{ path, what }];
    }
    if (isSeq(node)) return node.items.flatMap((item, index) => structuralFaults(item, [...path, index]));
    if (!isMap(node)) return [];
    const firstLines = new Map<string, number>();
    return node.items.flatMap((pair) => {
      const key = keyOf(pair);
      const line = lineAt(startOf(pair.key));
      const firstLine = firstLines.get(key);
      if (firstLine !== undefined) {
        return [{ path: [...path, key], line, what: `is given twice, first in line ${firstLine}` }];
      }
      firstLines.set(key, line);
      return structuralFaults(pair.value, [...path, key]);
    });
  }

  function lineCutShort(path: Path): number | undefined {
    const node = document.getIn(path, true);
    if (!isScalar(node) || node.type !== 'PLAIN' || !node.comment) return undefined;
    // Without a value it is a comment on an empty option, unless it looks like one.
    const isCut = node.value !== null || /^\S/.test(node.comment);
    return isCut ? lineAt(startOf(node)) : undefined;
  }

  function lineOf(path: Path): number | undefined {
    let node: unknown = document.contents;
    let line: number | undefined;
    for (const step of path) {
      if (isAlias(node)) node = node.resolve(document);
      const pair: Pair | undefined = isMap(node)
        ? node.items.find((each) => keyOf(each) === step)
        : undefined;
      const item: unknown = isSeq(node) ? node.items[Number(step)] : undefined;
      if (!pair && !isNode(item)) break;
      line = lineAt(startOf(pair ? pair.key : item));
      node = pair ? pair.value : item;
    }
    return line;
  }

  if (document.errors.length > 0) {
    // One slip makes the parser stumble several times in its line.
    const firstOfLine = faults.filter((each, index) => each.line !== faults[index - 1]?.line);
    return { value: undefined, problems: firstOfLine, lineOf, lineCutShort };
  }
  const problems = [...faults, ...structuralFaults(document.contents, [])];
  try {
    const value: unknown = document.toJS();
    // Throws where an alias stands in what it names, and the value never ends.
    JSON.stringify(value);
    return { value, problems, lineOf, lineCutShort };
  } catch {
    const refused =
      problems.length > 0
        ? problems
        : [{ path: [], what: 'the aliases (*name) in the file cannot be followed' }];
    return { value: undefined, problems: refused, lineOf, lineCutShort };
  }
}

const keyOf = (pair: Pair) => (isScalar(pair.key) ? String(pair.key.value) : '');
const startOf = (node: unknown) => (isNode(node) ? (node.range?.[0] ?? 0) : 0);
