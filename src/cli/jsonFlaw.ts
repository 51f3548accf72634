/** Where a text stops being JSON. */
export interface JsonFlaw {
  /** 1 the first. */
  readonly line: number;
  /** 1 the first. */
  readonly column: number;
  /** What should be there. */
  readonly expected: string;
}

const space = /[ \t\n\r]*/y;
const text = /"(?:[^"\\\p{Cc}]|[\x7f-\x9f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/uy;
const plain = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;

const value = 'a value (text in double quotes, a number, true, false, null, { or [)';
const name = 'a name in double quotes';

/**
 * Finds what is wrong with a text that should be JSON; null where it is. The runtime's own words differ from version to
 * version, seldom say where, and repeat what they read, which may be a password.
 */
export function jsonFlaw(source: string): JsonFlaw | null {
  const closers: string[] = [];
  let at = 0;
  const read = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    if (!pattern.test(source)) return false;
    at = pattern.lastIndex;
    return true;
  };
  const readMark = (mark: string): boolean => {
    read(space);
    if (!source.startsWith(mark, at)) return false;
    at += mark.length;
    return true;
  };
  const flaw = (expected: string) => positionOf(source, at, expected);
  const readName = (): JsonFlaw | null => {
    read(space);
    if (!read(text)) return flaw(name);
    return readMark(':') ? null : flaw('a colon');
  };

  for (;;) {
    // A value begins here; within it, another one unless it is empty.
    const opened = readMark('{') ? '}' : readMark('[') ? ']' : null;
    if (opened === null && !read(text) && !read(plain)) return flaw(value);
    if (opened !== null && !readMark(opened)) {
      closers.push(opened);
      const wrong = opened === '}' ? readName() : null;
      if (wrong) return wrong;
      continue;
    }
    // It has ended, and maybe what it is in.
    let closer = closers.at(-1);
    while (closer !== undefined && readMark(closer)) {
      closers.pop();
      closer = closers.at(-1);
    }
    if (closer === undefined) {
      read(space);
      return at === source.length ? null : flaw('the end');
    }
    if (!readMark(',')) return flaw(`a comma or ${closer}`);
    const wrong = closer === '}' ? readName() : null;
    if (wrong) return wrong;
  }
}

function positionOf(source: string, at: number, expected: string): JsonFlaw {
  const lines = source.slice(0, at).split(/\r\n|\n|\r/);
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1, expected };
}
