import { errorMessage } from '../base/errorMessage.ts';
import { joinSentences } from '../base/joinSentences.ts';
import type { ListResult } from '../cloud/crawl.ts';
import { CloudError, type CloudErrorKind } from '../cloud/errors.ts';

/** Why something, or a part of it, could not be read. */
export interface PollProblem {
  readonly message: string;
  /** The message without its variable parts. The log reports a problem again only if the key changes. */
  readonly key: string;
  /** The pages of a list did not fit together. Reading the list again may be enough. */
  readonly isInconsistent?: true;
}

/** A problem, with its kind: the poll failed, or was only incomplete. */
export interface PollFailure extends PollProblem {
  readonly kind: CloudErrorKind | 'incomplete';
}

export function toProblem(error: unknown): PollProblem {
  const message = errorMessage(error);
  return { message, key: error instanceof CloudError ? error.key : message };
}

/** The key of a list that was read without an error, but whose pages do not add up. */
export const incompleteKey = 'incomplete';

/** The problem with a list that was not read completely; null for a complete list. */
export function listProblem({
  problem,
  key,
  isInconsistent,
}: Pick<ListResult<unknown>, 'problem' | 'key' | 'isInconsistent'>): PollProblem | null {
  if (problem === null) return null;
  return { message: problem, key: key ?? incompleteKey, ...(isInconsistent && { isInconsistent }) };
}

/** The key is that of the first problem, so that one outage of the cloud is one problem. */
export function mergeProblems(problems: readonly (PollProblem | null)[]): PollProblem | null {
  const present = problems.filter((problem) => problem !== null);
  const [first] = present;
  if (!first) return null;
  return {
    message: joinSentences([...new Set(present.map(({ message }) => message))]),
    key: first.key,
    ...(present.every(({ isInconsistent }) => isInconsistent) && { isInconsistent: true }),
  };
}

/** The failure of a poll that has stored a part of its data; null if it has read everything. */
export function incomplete(problem: PollProblem | null): PollFailure | null {
  return problem && { kind: 'incomplete', ...problem };
}

/** Whether a run that ended so was answered, at least in part. */
export function isAnswered(failure: PollFailure | null): boolean {
  return failure === null || failure.kind === 'incomplete';
}
