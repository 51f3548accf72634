import { resolve } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import type { Command } from 'commander';
import { errorMessage } from '../base/errorMessage.ts';
import { jsonIn } from '../base/json.ts';
import { isToken } from '../cloud/decoders.ts';
import { readTextFile } from '../config/file.ts';
import { aborted, type CommandContext } from './context.ts';

/** Rejects if the signal aborts first: a person who types the text may change their mind. */
export async function readStandardInput({ signal }: CommandContext): Promise<string> {
  const text = await Promise.race([readAll(process.stdin), aborted(signal)]);
  if (text === undefined) throw new Error('interrupted');
  return text;
}

export async function readToken(
  file: string,
  command: Command,
  context: CommandContext,
  hint = 'Use what call sign_in prints',
): Promise<string> {
  const text = file === '-' ? await readStandardInput(context) : readFile(file, command, context);
  const json = jsonIn(text);
  const token = json === null ? text.trim() : Object(json).token_details;
  if (isToken(token)) return token;
  return command.error(`--token-file has no token. ${hint}`);
}

function readFile(file: string, command: Command, { cwd }: CommandContext): string {
  try {
    return readTextFile(resolve(cwd, file));
  } catch (error) {
    return command.error(`--token-file ${errorMessage(error)}`);
  }
}
