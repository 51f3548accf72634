import type { Command } from 'commander';
import { parseExact, writeExact } from '../base/exactJson.ts';
import { didYouMean, nearest } from '../base/nearest.ts';
import { sanitize } from '../base/sanitize.ts';
import type { Secrets } from '../base/secrets.ts';
import { CloudError } from '../cloud/errors.ts';
import { type Call, isOperationName, operationNames, operationRow } from '../cloud/operations.ts';
import { checkCall, faultText } from '../cloud/request.ts';
import { readRequest } from '../commands/requests.ts';
import { readConfiguration } from './configuration.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { readStandardInput, readToken } from './input.ts';
import { needsBody, operationList } from './operationList.ts';
import { ownClient, rejectionText, signOutAndClose } from './ownSession.ts';

interface CallOptions {
  readonly list?: true;
  readonly tokenFile?: string;
}

export async function call(
  context: CommandContext,
  command: Command,
  operation: string | undefined,
  json: string | undefined,
): Promise<number> {
  const { print, complain, signal } = context;
  const { list, tokenFile } = command.opts<CallOptions>();
  if (list) {
    print(operationList());
    return exitStatus.done;
  }
  if (json === '-' && tokenFile === '-')
    command.error('only one of JSON and --token-file can be standard input');
  const text = json === '-' ? await readStandardInput(context) : json;
  const asked = readCall(command, operation, text);
  const given = tokenFile === undefined ? undefined : await readToken(tokenFile, command, context);
  const configuration = await readConfiguration(context, { level: 'warn' });
  hideSecretsOf(asked, configuration.secrets);
  const client = ownClient(configuration, given);
  try {
    // As a command, the call fails soon if the cloud is unreachable. As a poll, it would wait.
    const { sent } = await client.callRaw(asked, { priority: 'command', mayMove: () => true, signal });
    // A given session, or one whose token was printed, belongs to the user, so it is not signed out.
    await (given || operationRow(asked.operation).session ? client.close() : signOutAndClose(client, signal));
    print(shownJson(sent ?? 'null'));
    return exitStatus.done;
  } catch (error) {
    const isRejected = client.session.state.status === 'rejected';
    await (given ? client.close() : signOutAndClose(client, signal));
    if (!(error instanceof CloudError)) throw error;
    complain(`sonic2mqtt: ${complaint(error, asked, signal.aborted)}`);
    const isInvalid = (asked.operation === 'sign_in' || given !== undefined) && error.kind === 'auth';
    return (isRejected || isInvalid) && !signal.aborted ? exitStatus.rejected : exitStatus.failed;
  }
}

function readCall(command: Command, operation: string | undefined, json = '{}'): Call {
  if (operation === undefined) return command.error('the operation is missing');
  if (!isOperationName(operation))
    return command.error(`unknown operation '${operation}'${didYouMean(nearest(operation, operationNames))}`);
  const { parts, problem } = readRequest({ payload: json.replace(/^\ufeff/, ''), isText: true });
  if (problem !== null) return command.error(`${operation}: ${problem}`);
  const row = operationRow(operation);
  const isBodyMissing = needsBody(operation) && (parts.body === undefined || parts.body === null);
  const words = checkCall(row, parts)
    .faults.filter(({ place }) => place !== 'body' || !isBodyMissing)
    .map(faultText);
  if (isBodyMissing) words.push(`body is missing${row.session ? '' : '. An empty one is "body":{}'}`);
  if (words.length > 0) return command.error(`${operation}: ${words.join('\n')}`);
  // All parts were checked against the row.
  return { operation, ...parts } as Call;
}

/** JSON that is safe for a terminal: texts of the cloud must not act as escape sequences. */
function shownJson(json: string): string {
  const text = process.stdout.isTTY ? writeExact(parseExact(json), 2) : json;
  return text.split('\n').map(sanitize).join('\n');
}

function hideSecretsOf(asked: Call, secrets: Secrets): void {
  for (const [field, value] of Object.entries(Object('body' in asked ? asked.body : {}))) {
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
