import { resolve } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { errorMessage } from '../base/errorMessage.ts';
import { readTextFile } from '../config/file.ts';
import { aborted, type CommandContext } from './context.ts';
import { jsonFlaw } from './jsonFlaw.ts';

/** The JSON of a body, or what is wrong with it. */
type ReadBody = { readonly value: unknown } | { readonly fault: string };

/** Reads the JSON that `--body` gives: itself, from standard input (`-`) or from a file (`@FILE`). */
export async function readBody(typed: string, context: CommandContext): Promise<ReadBody> {
  const read = await textOf(typed, context);
  if ('fault' in read) return read;
  const text = read.text.replace(/^\ufeff/, '');
  const flaw = jsonFlaw(text);
  if (flaw === null) return { value: JSON.parse(text) };
  const { line, column, expected } = flaw;
  return { fault: `is not JSON: at line ${line}, column ${column}, ${expected} is expected` };
}

async function textOf(
  typed: string,
  { cwd, signal }: CommandContext,
): Promise<{ readonly text: string } | { readonly fault: string }> {
  if (typed === '-') {
    // Whoever types it may think better of it.
    const text = await Promise.race([readAll(process.stdin), aborted(signal)]);
    return text === undefined ? { fault: 'was not read to its end' } : { text };
  }
  if (!typed.startsWith('@')) return { text: typed };
  try {
    return { text: readTextFile(resolve(cwd, typed.slice(1))) };
  } catch (error) {
    return { fault: errorMessage(error) };
  }
}
