import { expect, it } from 'vitest';
import { findings } from '../../../src/cli/findings.ts';

it('Findings name the step that was under way when time was up, and hear of nothing that comes later', () => {
  const found = findings(30_000);
  found.started('cloud: DNS');
  found.passed('cloud: DNS', 'it is there');
  found.started('account');
  const told = found.end();
  found.failed('account', 'the connection was closed');
  expect(told).toEqual([
    { step: 'cloud: DNS', outcome: 'ok', words: 'it is there' },
    { step: 'account', outcome: 'unfinished', words: 'not done within 30 s' },
  ]);
});
