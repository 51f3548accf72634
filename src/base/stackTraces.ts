import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Lets stack traces name the lines of the sources instead of those of the bundle. Maps are read when the first trace is,
 * since Node's own --enable-source-maps keeps them all in memory from the start (25 MB).
 */
export function nameSourcesInStackTraces(): void {
  const maps = new Map<string, SourceMap | null>();
  Error.prepareStackTrace = (error, sites) =>
    [describe(error), ...sites.map((site) => `    at ${named(String(site), maps)}`)].join('\n');
}

/** As V8 does. */
function describe(error: Error): string {
  try {
    return String(error);
  } catch {
    return 'Error';
  }
}

/** A call site with its place in the sources, if there is a map of its file. */
function named(site: string, maps: Map<string, SourceMap | null>): string {
  return site.replace(/(file:\/\/[^)]+?):(\d+):(\d+)/, (place, url, line, column) => {
    const entry = mapOf(url, maps)?.findEntry(Number(line) - 1, Number(column) - 1);
    if (!entry || !('originalSource' in entry)) return place;
    const { originalSource, originalLine, originalColumn } = entry;
    return `${originalSource.replace(/^(\.\.\/)+/, '')}:${originalLine + 1}:${originalColumn + 1}`;
  });
}

function mapOf(url: string, maps: Map<string, SourceMap | null>): SourceMap | null {
  const known = maps.get(url);
  if (known !== undefined) return known;
  const map = readMap(`${fileURLToPath(url)}.map`);
  maps.set(url, map);
  return map;
}

/** Null where there is none: a trace must not fail for it. */
function readMap(file: string): SourceMap | null {
  try {
    return existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) : null;
  } catch {
    return null;
  }
}
