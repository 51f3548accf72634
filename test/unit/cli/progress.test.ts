import { expect, it } from 'vitest';
import { progressOn } from '../../../src/cli/progress.ts';

function shownOn(isTTY: boolean | undefined): string {
  let written = '';
  const write = (text: string) => {
    written += text;
  };
  const progress = progressOn(isTTY === undefined ? { write } : { isTTY, write });
  progress.show('page 1 of 2 …');
  progress.show('page 2 of 2 …');
  progress.erase();
  return written;
}

it('progress replaces itself on a terminal, and is gone at its end', () => {
  expect(shownOn(true)).toBe('\r\x1b[2Kpage 1 of 2 …\r\x1b[2Kpage 2 of 2 …\r\x1b[2K');
});

it('progress is nothing where there is no terminal', () => {
  expect(shownOn(false)).toBe('');
  expect(shownOn(undefined)).toBe('');
});
