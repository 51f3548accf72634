import type { Command } from 'commander';
import { parseExact, writeExact } from '../base/exactJson.ts';
import { sanitize } from '../base/sanitize.ts';
import type { Secrets } from '../base/secrets.ts';
import type { CloudClient } from '../cloud/client.ts';
import type { HowFar } from '../cloud/crawl.ts';
import { CloudError } from '../cloud/errors.ts';
import { type Call, type ListName, type OperationName, operationRow } from '../cloud/operations.ts';
import { readToken, readTypedBody } from './callBody.ts';
import { readConfiguration } from './configuration.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { readCall } from './operationCommands.ts';
import { ownClient, rejectionText, signOutAndClose } from './ownSession.ts';
import { progressOn } from './progress.ts';

type CallOptions = { readonly [name in 'body' | 'tokenFile']?: string } & { readonly allPages?: true };

/** `sonic2mqtt call OPERATION`: calls one cloud operation and prints the answer as JSON. */
export async function call(context: CommandContext, command: Command, name: OperationName): Promise<number> {
  const { print, complain, signal } = context;
  const { body, allPages, tokenFile } = command.opts<CallOptions>();
  if (body === '-' && tokenFile === '-')
    command.error('only one of --body and --token-file can read standard input');
  const value = body === undefined ? undefined : await readTypedBody(body, command, context);
  const asked = readCall(command, name, value);
  const given = tokenFile === undefined ? undefined : await readToken(tokenFile, command, context);
  const configuration = await readConfiguration(context, { level: 'warn' });
  hideSecretsOf(asked, configuration.secrets);
  const client = ownClient(configuration, given);
  try {
    const answer = await (allPages ? sendForAllPages(client, asked, signal) : send(client, asked, signal));
    // A given session, or one whose token was printed, belongs to the user, so it is not signed out.
    await (given || operationRow(name).session ? client.close() : signOutAndClose(client, signal));
    print(shownJson(answer));
    return exitStatus.done;
  } catch (error) {
    const isRejected = client.sessionState().status === 'rejected';
    await (given ? client.close() : signOutAndClose(client, signal));
    if (!(error instanceof CloudError)) throw error;
    complain(`sonic2mqtt: ${complaint(error, asked, signal.aborted)}`);
    const isInvalid = (asked.operation === 'sign_in' || given !== undefined) && error.kind === 'auth';
    return (isRejected || isInvalid) && !signal.aborted ? exitStatus.rejected : exitStatus.failed;
  }
}

/** JSON that is safe for a terminal: texts of the cloud must not act as escape sequences. */
function shownJson(json: string): string {
  const text = process.stdout.isTTY ? writeExact(parseExact(json), 2) : json;
  return text.split('\n').map(sanitize).join('\n');
}

async function send(client: CloudClient, asked: Call, signal: AbortSignal): Promise<string> {
  // As a command, the call fails soon if the cloud is unreachable. As a poll, it would wait.
  const { sent } = await client.callRaw(asked, { priority: 'command', signal });
  return sent ?? 'null';
}

async function sendForAllPages(client: CloudClient, asked: Call, signal: AbortSignal): Promise<string> {
  const progress = progressOn(process.stderr);
  const onPage = ({ read, announced }: HowFar) =>
    progress.show(announced === null ? `page ${read} …` : `page ${read} of ${announced} …`);
  try {
    // The command line was checked, so only lists come here.
    const { records, problem } = await client.readListRaw(asked as Call<ListName>, { signal, onPage });
    if (problem !== null) {
      throw new CloudError('unreadable', asked.operation, `the list is incomplete: ${problem}`);
    }
    const { length } = records;
    const totals = { page_number: 1, page_size: length, total_entries: length, total_pages: 1 };
    return writeExact({ data: records, ...totals });
  } finally {
    progress.erase();
  }
}

/** Hides the passwords and tokens of a call in logs and in the texts of errors. */
function hideSecretsOf(asked: Call, secrets: Secrets): void {
  for (const [field, value] of Object.entries('body' in asked ? asked.body : {})) {
    if (/password|token|secret/i.test(field) && typeof value === 'string') secrets.add(value);
  }
}

function complaint(error: CloudError, { operation }: Call, isInterrupted: boolean): string {
  const { kind, status, message, mayHaveActed } = error;
  const { control } = operationRow(operation);
  const doubt = control && mayHaveActed ? '. The cloud may have executed it' : '';
  if (isInterrupted) return `${operation}: interrupted${doubt}`;
  const rejected = rejectionText(error);
  if (rejected !== null) return `${operation}: ${rejected}`;
  if (kind === 'unsupported' && status !== undefined) {
    return `${operation}: ${message}. If your cloud has another path, set cloud.routes.${operation}`;
  }
  return message.startsWith(operation) ? message : `${operation}: ${message}${doubt}`;
}
