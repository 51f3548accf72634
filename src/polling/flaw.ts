import { reasonOf } from '../base/reason.ts';
import { CloudError } from '../cloud/errors.ts';
import type { ListResult } from '../cloud/listAll.ts';

/** Why something could not be read, or not all of it. */
export interface Flaw {
  readonly words: string;
  /** The words without what varies from one such flaw to the next: only another gist is news. */
  readonly gist: string;
  /** Whether reading again may be all that it takes: the pages of a list did not fit together. */
  readonly isInDoubt?: true;
}

/** What an error says. */
export function flawOf(error: unknown): Flaw {
  const words = reasonOf(error);
  return { words, gist: error instanceof CloudError ? error.gist : words };
}

/** What was read of a list, where that is not all; null where it is. */
export function flawOfList({
  problem,
  gist,
  isInDoubt,
}: Pick<ListResult<unknown>, 'problem' | 'gist' | 'isInDoubt'>): Flaw | null {
  return problem === null
    ? null
    : { words: problem, gist: gist ?? 'incomplete', ...(isInDoubt && { isInDoubt }) };
}

/** Several as one, which is no other than the first of them; null for none. */
export function together(flaws: readonly (Flaw | null)[]): Flaw | null {
  const present = flaws.filter((flaw) => flaw !== null);
  const [first] = present;
  if (!first) return null;
  return {
    words: [...new Set(present.map(({ words }) => words))].join('; '),
    gist: first.gist,
    ...(present.every(({ isInDoubt }) => isInDoubt) && { isInDoubt: true }),
  };
}
