import { errorMessage } from '../base/errorMessage.ts';
import type { Language } from '../model/language.ts';
import { textsIn } from '../texts/texts.ts';
import { aborted } from './context.ts';
import { type CheckResult, type Finding, findingText } from './findings.ts';
import { rejectionText } from './ownSession.ts';
import { progressOn } from './progress.ts';

/** One check. If `run` throws an error, the error is the finding `FAIL`. */
export interface Check {
  readonly name: string;
  readonly run: (progress: (words: string) => void) => Promise<readonly CheckResult[]>;
}

export interface Reporter {
  /** Shows what is being done. The next text replaces it. */
  readonly progress: (words: string) => void;
  readonly found: (finding: Finding) => void;
}

/** Prints what is found. Before English words, failures have a text in the language. */
export function reportTo(print: (line: string) => void, language: Language = 'en'): Reporter {
  const progress = progressOn(process.stderr);
  return {
    progress: (words) => progress.show(`…    ${words}`),
    found: (finding) => {
      const { check, outcome, words, field } = finding;
      const text = language === 'en' || outcome !== 'FAIL' || field ? null : findingText(finding);
      progress.erase();
      print(`${outcome.padEnd(4)} ${check}: ${text ? `${textsIn(language).setup[text]} (${words})` : words}`);
    },
  };
}

/** A reporter that keeps the findings. */
export function collectFindings(): { readonly findings: Finding[]; readonly report: Reporter } {
  const findings: Finding[] = [];
  return { findings, report: { progress: () => {}, found: (finding) => void findings.push(finding) } };
}

/** Runs checks one after the other, until one fails or the signal aborts. Resolves to the error; null if all pass. */
export async function runChecks(
  checks: readonly Check[],
  { progress, found }: Reporter,
  signal: AbortSignal,
): Promise<unknown> {
  for (const { name, run } of checks) {
    progress(name);
    try {
      const stopped = aborted(signal).then(() => Promise.reject(signal.reason));
      const results = await Promise.race([run((words) => progress(`${name}: ${words}`)), stopped]);
      for (const each of results) found({ check: name, ...each });
      const failed = results.find(({ outcome }) => outcome === 'FAIL');
      if (failed) return new Error(failed.words);
    } catch (error) {
      found({ check: name, outcome: 'FAIL', words: failureReason(error, signal) });
      return error;
    }
  }
  return null;
}

export function ok(words: string): readonly CheckResult[] {
  return [{ outcome: 'OK', words }];
}

function failureReason(error: unknown, { aborted, reason }: AbortSignal): string {
  // After an abort, any error only means that the check was stopped.
  if (aborted) return reason.name === 'TimeoutError' ? 'no result in time' : 'interrupted';
  return rejectionText(error) ?? errorMessage(error);
}
