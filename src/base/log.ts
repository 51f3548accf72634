import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { LogOutput } from './logOutput.ts';
import { sanitize } from './sanitize.ts';
import type { Secrets } from './secrets.ts';
import { withSourceNames } from './stackTraces.ts';

/** The levels a user can choose, most talkative first. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** The log that parts are given. It hides secrets in all that it writes. */
export type Log = Logger;

/**
 * Fields of the JSON format with the ids and topics of a line. The pretty format leaves them out, since they are long and its
 * messages have the names.
 */
const subjectFields = ['device', 'topic', 'operation', 'incident', 'event'] as const;

/** How log lines are written. */
interface LogOptions {
  readonly level: LogLevel;
  readonly format: 'pretty' | 'json';
  /** Values that must never be read in a line; looked up at each line, so that a new token is hidden at once. */
  readonly secrets: Secrets;
  /** Where lines go; standard error unless given. */
  readonly output?: DestinationStream;
}

/** A logger on standard error that stops nothing. Lines that cannot be written are lost and counted. */
export function createLog({ level, format, secrets, output }: LogOptions): Log {
  const sink =
    output ??
    new LogOutput((lines) => log.warn(`Log lines lost: ${lines}. Standard error could not be written`));
  const pretty = prettyFactory({
    colorize: format === 'pretty' && !output && process.stderr.isTTY === true && !process.env['NO_COLOR'],
    translateTime: 'SYS:yyyy-mm-dd HH:MM:ss',
    ignore: ['pid', 'hostname', ...subjectFields].join(),
  });
  const stream = {
    write: (line: string) => sink.write(format === 'pretty' ? indented(pretty(literal(line)) ?? '') : line),
    // The library calls it after a fatal line, before the process ends.
    flushSync: () => (sink instanceof LogOutput ? sink.flushSync() : undefined),
  };
  const streamWrite = (line: string) => {
    const named = line.includes('"stack":') ? withSourceNames(line) : line;
    return `${sanitize(secrets.hide(named.trimEnd()))}\n`;
  };
  const formatters = { level: (label: string) => ({ level: label }) };
  const timestamp = stdTimeFunctions.isoTime;
  const log = pino({ level, base: null, formatters, timestamp, hooks: { streamWrite } }, stream);
  return log;
}

/** A line of JSON whose control characters, except new lines, are still escaped after it was parsed once. */
function literal(line: string): string {
  return line.replace(/\\(u....|.)/g, (code) => (/[ubfr]/.test(code.charAt(1)) ? `\\${code}` : code));
}

/** Indents all lines but the first, so that no name or error text can look like a log line. */
function indented(text: string): string {
  return text
    .trimEnd()
    .replace(/\n(?=\S)/g, '\n    ')
    .concat('\n');
}
