import { resolve } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { errorMessage } from '../base/errorMessage.ts';
import { isToken } from '../cloud/decoders.ts';
import { readTextFile } from '../config/file.ts';
import { aborted, type CommandContext } from './context.ts';

/** Reads the token from `--token-file`: the token alone, or the output of `call sign_in`. */
export async function readToken(
  typed: string,
  context: CommandContext,
): Promise<{ readonly token: string } | { readonly fault: string }> {
  const read = await typedText(typed === '-' ? typed : `@${typed}`, context);
  if ('fault' in read) return read;
  const token = tokenIn(read.text.trim());
  return isToken(token) ? { token } : { fault: 'has no token. Use what call sign_in prints' };
}

/** Finds the token in a text that is the token itself, or the JSON from `call sign_in`. */
function tokenIn(text: string): unknown {
  try {
    return Object(JSON.parse(text)).token_details;
  } catch {
    return text;
  }
}

/** The JSON of a body, or the problem with it. */
type TypedBody = { readonly value: unknown } | { readonly fault: string };

/** Reads the JSON of `--body`: the option's own text, standard input (`-`), or a file (`@FILE`). */
export async function readTypedBody(typed: string, context: CommandContext): Promise<TypedBody> {
  const read = await typedText(typed, context);
  if ('fault' in read) return read;
  const text = read.text.replace(/^\ufeff/, '');
  try {
    return { value: JSON.parse(text) };
  } catch {
    // The parser's own message repeats a part of the text, which may be a password.
    return { fault: 'is not JSON' };
  }
}

/** Reads the text of an option: its own text, standard input (`-`), or a file (`@FILE`). */
export async function typedText(
  typed: string,
  { cwd, signal }: CommandContext,
): Promise<{ readonly text: string } | { readonly fault: string }> {
  if (typed === '-') {
    // A person who types the text may change their mind.
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
