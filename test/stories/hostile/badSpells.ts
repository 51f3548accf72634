import fc from 'fast-check';
import { oddTexts, written } from '../../support/badJson.ts';
import { type BadAnswer, badAnswers, endless, withIds } from './badAnswers.ts';
import type { Twist } from './hostileHome.ts';

/** Which answers are bad, and how: each in turn, to the requests of an operation or to a share of all. */
export interface BadSpell {
  readonly answers: readonly BadAnswer[];
  /** Matches names of operations. */
  readonly whom: RegExp;
  readonly ms: number;
}

export const badSpells: fc.Arbitrary<BadSpell> = fc.record({
  answers: fc.array(badAnswers, { minLength: 1, maxLength: 4 }),
  whom: fc.constantFrom(
    /./,
    /./,
    /^list_/,
    /^read_/,
    /incident/,
    /sonic/,
    /propert/,
    /^(sign_in|refresh_token)$/,
    /usage|tests|telemetry/,
  ),
  ms: fc.constantFrom(1_000, 10_000, 60_000),
});

/** Twists the answers of a spell, counting by kind what it gave. */
export function twistOf({ answers, whom }: BadSpell, counts: Map<string, number>): Twist {
  let count = 0;
  return (request, good) => {
    if (!whom.test(request.operation ?? '')) return null;
    const answer = answers[count++ % answers.length];
    if (!answer) return null;
    counts.set(answer.kind, (counts.get(answer.kind) ?? 0) + 1);
    return answer.make(request, good, count);
  };
}

/** What is always tried: two devices with one id and a secret spelled in escapes once did harm; the others must not. */
export const knownSpells: readonly BadSpell[] = [
  {
    answers: [{ kind: 'pages without end', make: (_, good, count) => endless(good, count) }],
    whom: /^list_incidents$/,
    ms: 60_000,
  },
  {
    answers: [
      { kind: 'ids of every kind', make: (_, good, count) => withIds(good, oddTexts.slice(count % 20)) },
    ],
    whom: /./,
    ms: 10_000,
  },
  {
    answers: [{ kind: 'ids of every kind', make: (_, good) => withIds(good, ['one']) }],
    whom: /./,
    ms: 60_000,
  },
  {
    answers: [
      {
        kind: 'error with words',
        make: () => ({ status: 503, headers: {}, body: written({ message: '@escaped' }) }),
      },
    ],
    whom: /./,
    ms: 10_000,
  },
];
