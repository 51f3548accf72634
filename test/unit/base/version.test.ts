import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { version } from '../../../src/base/version.ts';

it('the version is the one that the package states', () => {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  expect(version).toBe(JSON.parse(text).version);
});
