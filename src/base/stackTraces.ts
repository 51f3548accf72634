import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Replaces the lines of the bundle in stack traces by those of its sources. Node's own --enable-source-maps would keep
 * all maps in memory from the start (25 MB), and each socket that is given up writes its stack trace.
 */
export function withSourceNames(text: string): string {
  const maps = new Map<string, SourceMap | null>();
  return text.replace(/(file:\/\/[^\s():]+\.js):(\d+):(\d+)/g, (place, url, line, column) => {
    const map = maps.get(url) ?? readMap(`${fileURLToPath(url)}.map`);
    maps.set(url, map);
    const entry = map?.findEntry(Number(line) - 1, Number(column) - 1);
    if (!entry || !('originalSource' in entry)) return place;
    const { originalSource, originalLine, originalColumn } = entry;
    return `${originalSource.replace(/^(\.\.\/)+/, '')}:${originalLine + 1}:${originalColumn + 1}`;
  });
}

/** Reads a source map; null if it cannot be read, because a stack trace must not fail for this. */
function readMap(file: string): SourceMap | null {
  try {
    return existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) : null;
  } catch {
    return null;
  }
}
