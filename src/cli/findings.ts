import type { Reporter } from './examination.ts';

/** How a step of an examination has fared. */
export interface Finding {
  readonly step: string;
  readonly outcome: 'ok' | 'warning' | 'failed' | 'unfinished';
  readonly words: string;
}

/** A reporter that keeps what it hears, until it is told that time is up. */
export function findings(limitMs: number): Reporter & { end(): readonly Finding[] } {
  const found: Finding[] = [];
  let running: string | null = null;
  let isOver = false;
  const note = (step: string, outcome: Finding['outcome'], words: string) => {
    if (isOver) return;
    found.push({ step, outcome, words });
    running = null;
  };
  return {
    started: (name) => {
      running = name;
    },
    passed: (name, words) => note(name, 'ok', words),
    warned: (name, words) => note(name, 'warning', words),
    failed: (name, words) => note(name, 'failed', words),
    end: () => {
      if (running !== null) note(running, 'unfinished', `not done within ${limitMs / 1_000} s`);
      isOver = true;
      return found;
    },
  };
}
