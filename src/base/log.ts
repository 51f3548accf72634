import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import { standardError } from './logOutput.ts';
import { sanitize } from './sanitize.ts';
import type { Secrets } from './secrets.ts';

/** The levels that a user can choose, the most detailed first. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

export type Log = Logger;

/** Fields of the JSON format. The pretty format leaves them out: they are long, and its messages have the names. */
const subjectFields = ['device', 'topic', 'operation', 'incident', 'event'];

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
    standardError((lines) =>
      log.warn(`Log lines lost: ${lines.toLocaleString('en-US')}. Standard error was slow, full or not read`),
    );
  const stream = { write: (line: string) => void sink.write(format === 'pretty' ? pretty(line) : line) };
  const streamWrite = (line: string) => `${sanitize(secrets.hide(line.trimEnd()))}\n`;
  const formatters = { level: (label: string) => ({ level: label }) };
  const timestamp = stdTimeFunctions.isoTime;
  const log = pino({ level, base: null, formatters, timestamp, hooks: { streamWrite } }, stream);
  return log;
}

/** In the time zone of this computer, as `2026-11-14 21:07:00`. */
const localTime = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' });

/** A JSON line for people. All its lines except the first are indented, so that no name or error text can look like one. */
function pretty(line: string): string {
  const { level, time, msg = '', err, ...fields } = JSON.parse(literal(line));
  const shown = Object.entries(fields)
    .filter(([field]) => !subjectFields.includes(field))
    .map(([field, value]) => `${field}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const text = `[${localTime.format(Date.parse(time))}] ${level.toUpperCase()}: ${msg}`;
  return `${[text, ...shown, ...(err ? [err.stack ?? err.message] : [])].join('\n').replace(/\n/g, '\n    ')}\n`;
}

/** A JSON line in which control characters, except new lines, stay escaped when it is parsed. */
function literal(line: string): string {
  return line.replace(/\\(u....|.)/g, (code) => (/[ubfrt]/.test(code.charAt(1)) ? `\\${code}` : code));
}
