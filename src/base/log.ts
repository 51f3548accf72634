import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { LogOutput } from './logOutput.ts';
import { sanitize } from './sanitize.ts';
import type { Secrets } from './secrets.ts';
import { withSourceNames } from './stackTraces.ts';

/** The levels that a user can choose, the most detailed first. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

export type Log = Logger;

/** Fields of the JSON format. The pretty format leaves them out: they are long, and its messages have the names. */
const subjectFields = ['device', 'topic', 'operation', 'incident', 'event'] as const;

interface LogOptions {
  readonly level: LogLevel;
  readonly format: 'pretty' | 'json';
  /** Values that no line may contain. They are looked up for each line, so that a new token is hidden at once. */
  readonly secrets: Secrets;
  /** The destination of the lines; standard error if it is not given. */
  readonly output?: DestinationStream;
}

/** A logger on standard error that never blocks the process. Lines that cannot be written are lost and counted. */
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
    // The library calls this after a fatal line, before the process ends.
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

/** A JSON line in which control characters, except new lines, stay escaped when it is parsed. */
function literal(line: string): string {
  return line.replace(/\\(u....|.)/g, (code) => (/[ubfr]/.test(code.charAt(1)) ? `\\${code}` : code));
}

/** Indents all lines except the first, so that no name or error text can look like a log line. */
function indented(text: string): string {
  return text
    .trimEnd()
    .replace(/\n(?=\S)/g, '\n    ')
    .concat('\n');
}
