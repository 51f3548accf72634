import { resolve } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import type { Command } from 'commander';
import { errorMessage } from '../base/errorMessage.ts';
import { isToken } from '../cloud/decoders.ts';
import { readTextFile } from '../config/file.ts';
import { aborted, type CommandContext } from './context.ts';

/** The token in `--token-file`: the token alone, or the output of `call sign_in`. A fault ends the program. */
export async function readToken(
  typed: string,
  command: Command,
  context: CommandContext,
  hint = 'Use what call sign_in prints',
): Promise<string> {
  const text = await textOf('--token-file', typed === '-' ? typed : `@${typed}`, command, context);
  let token: unknown = text.trim();
  try {
    token = Object(JSON.parse(text)).token_details;
  } catch {}
  if (isToken(token)) return token;
  return command.error(`--token-file has no token. ${hint}`);
}

/** The JSON of `--body`: the option's own text, standard input (`-`), or a file (`@FILE`). A fault ends the program. */
export async function readTypedBody(
  typed: string,
  command: Command,
  context: CommandContext,
): Promise<unknown> {
  const text = await textOf('--body', typed, command, context);
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    // The parser's own message repeats a part of the text, which may be a password.
    return command.error('--body is not JSON');
  }
}

/** The text of an option: its own text, standard input (`-`), or a file (`@FILE`). A fault ends the program. */
async function textOf(
  option: string,
  typed: string,
  command: Command,
  { cwd, signal }: CommandContext,
): Promise<string> {
  if (typed === '-') {
    // A person who types the text may change their mind.
    const text = await Promise.race([readAll(process.stdin), aborted(signal)]);
    if (text === undefined) throw new Error('interrupted');
    return text;
  }
  if (!typed.startsWith('@')) return typed;
  try {
    return readTextFile(resolve(cwd, typed.slice(1)));
  } catch (error) {
    return command.error(`${option} ${errorMessage(error)}`);
  }
}
