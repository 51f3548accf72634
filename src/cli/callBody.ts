import { resolve } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { errorMessage } from '../base/errorMessage.ts';
import { isToken } from '../cloud/decoders.ts';
import { readTextFile } from '../config/file.ts';
import { aborted, type CommandContext } from './context.ts';

/** Reads the token that `--token-file` gives: alone, or in what `call sign_in` has printed. */
export async function readToken(
  typed: string,
  context: CommandContext,
): Promise<{ readonly token: string } | { readonly fault: string }> {
  const read = await typedText(typed === '-' ? typed : `@${typed}`, context);
  if ('fault' in read) return read;
  const token = tokenIn(read.text.trim());
  return isToken(token) ? { token } : { fault: 'has no token. Use what call sign_in prints' };
}

/** The token in a file that has only the token, or the JSON that `call sign_in` prints. */
function tokenIn(text: string): unknown {
  try {
    return Object(JSON.parse(text)).token_details;
  } catch {
    return text;
  }
}

/** The JSON of a body, or what is wrong with it. */
type TypedBody = { readonly value: unknown } | { readonly fault: string };

/** Reads the JSON that `--body` gives: itself, from standard input (`-`) or from a file (`@FILE`). */
export async function readTypedBody(typed: string, context: CommandContext): Promise<TypedBody> {
  const read = await typedText(typed, context);
  if ('fault' in read) return read;
  const text = read.text.replace(/^\ufeff/, '');
  try {
    return { value: JSON.parse(text) };
  } catch {
    // The parser's own words repeat what it read, which may be a password.
    return { fault: 'is not JSON' };
  }
}

/** The text that an option gives: itself, from standard input (`-`) or from a file (`@FILE`). */
export async function typedText(
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
