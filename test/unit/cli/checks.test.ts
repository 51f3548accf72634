import { expect, it } from 'vitest';
import { type Check, type Finding, ok, runChecks } from '../../../src/cli/checks.ts';

async function run(checks: readonly Check[], signal: AbortSignal) {
  const found: Finding[] = [];
  const report = { progress: () => {}, found: (each: Finding) => found.push(each) };
  const error = await runChecks(checks, report, signal);
  return { found, error };
}

const passes: Check = { name: 'first', run: async () => ok('fine') };
const never: Check = { name: 'last', run: () => new Promise(() => {}) };

it('Checks run until one fails, by what it throws or by what it finds', async () => {
  const error = new Error('broken');
  const throws: Check = { name: 'second', run: () => Promise.reject(error) };
  const finds: Check = { name: 'second', run: async () => [{ outcome: 'FAIL', words: 'broken' }] };
  for (const fails of [throws, finds]) {
    expect(await run([passes, fails, never], new AbortController().signal)).toEqual({
      found: [
        { check: 'first', outcome: 'OK', words: 'fine' },
        { check: 'second', outcome: 'FAIL', words: 'broken' },
      ],
      error,
    });
  }
});

it('A check that does not end is stopped, and the words say why', async () => {
  const { found, error } = await run([passes, never], AbortSignal.timeout(10));
  expect(found.at(-1)).toEqual({ check: 'last', outcome: 'FAIL', words: 'no result in time' });
  expect(error).not.toBeNull();
  const interrupted = await run([never], AbortSignal.abort());
  expect(interrupted.found).toEqual([{ check: 'last', outcome: 'FAIL', words: 'interrupted' }]);
});
