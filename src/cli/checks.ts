import { errorMessage } from '../base/errorMessage.ts';
import type { SetupText } from '../texts/texts.ts';
import { aborted } from './context.ts';
import { rejectionText } from './ownSession.ts';
import { progressOn } from './progress.ts';

export interface CheckResult {
  readonly outcome: 'OK' | 'WARN' | 'FAIL';
  readonly words: string;
  /** What a setup shows in the language of the user. It leaves out a result without one. */
  readonly text?: SetupText;
}

export interface Finding extends CheckResult {
  readonly check: string;
  /** The name of the answer that is wrong, in a setup. */
  readonly field?: string;
}

/** One check. If `run` throws an error, the error is the finding `FAIL`. */
export interface Check {
  readonly name: string;
  readonly run: (progress: (words: string) => void) => Promise<readonly CheckResult[]>;
  readonly textOf?: (error: unknown) => SetupText;
}

export interface Reporter {
  /** Shows what is being done. The next text replaces it. */
  readonly progress: (words: string) => void;
  readonly found: (finding: Finding) => void;
}

export function reportTo(print: (line: string) => void): Reporter {
  const progress = progressOn(process.stderr);
  return {
    progress: (words) => progress.show(`…    ${words}`),
    found: ({ check, outcome, words }) => {
      progress.erase();
      print(`${outcome.padEnd(4)} ${check}: ${words}`);
    },
  };
}

export function collectFindings() {
  const findings: Finding[] = [];
  const report: Reporter = { progress: () => {}, found: (finding) => void findings.push(finding) };
  return { findings, report };
}

/** Runs checks one after the other, until one fails or the signal aborts. Resolves to the error; null if all pass. */
export async function runChecks(
  checks: readonly Check[],
  { progress, found }: Reporter,
  signal: AbortSignal,
): Promise<unknown> {
  for (const { name, run, textOf } of checks) {
    progress(name);
    try {
      const stopped = aborted(signal).then(() => Promise.reject(signal.reason));
      const results = await Promise.race([run((words) => progress(`${name}: ${words}`)), stopped]);
      for (const each of results) found({ check: name, ...each });
      const failed = results.find(({ outcome }) => outcome === 'FAIL');
      if (failed) return new Error(failed.words);
    } catch (error) {
      const words = failureReason(error, signal);
      found({ check: name, outcome: 'FAIL', words, ...(textOf && { text: textOf(error) }) });
      return error;
    }
  }
  return null;
}

export function ok(words: string, text?: SetupText): readonly CheckResult[] {
  return [{ outcome: 'OK', words, ...(text && { text }) }];
}

function failureReason(error: unknown, { aborted, reason }: AbortSignal): string {
  // After an abort, any error only means that the check was stopped.
  if (aborted) return reason.name === 'TimeoutError' ? 'no result in time' : 'interrupted';
  return rejectionText(error) ?? errorMessage(error);
}
