import { hash } from 'node:crypto';
import type { GoodAnswer, Report } from './response.ts';

/** By path of a page: a digest of its last body, and what was read from it. */
export type KnownPages = Map<
  string,
  { readonly digest: string; readonly answer: GoodAnswer; readonly reports: readonly Parameters<Report>[] }
>;

/**
 * Reads a page, unless it has the same bytes as the last time, as most have: to read it again takes a sixth of the time of
 * a poll. `secretsChanges` is different as soon as other secrets must be hidden.
 */
export function readUnlessKnown(
  pages: KnownPages,
  path: string,
  body: Buffer,
  secretsChanges: number,
  report: Report,
  read: (report: Report) => GoodAnswer,
): GoodAnswer {
  const digest = `${secretsChanges} ${hash('sha1', body)}`;
  const known = pages.get(path);
  if (known?.digest === digest) {
    for (const each of known.reports) report(...each);
    return known.answer;
  }
  const reports: Parameters<Report>[] = [];
  const { reply } = read((...each) => {
    reports.push(each);
    report(...each);
  });
  const answer = { reply, sent: null };
  pages.set(path, { digest, answer, reports });
  return answer;
}
