import { type DestinationStream, destination, type Logger, pino } from 'pino';
import { prettyFactory } from 'pino-pretty';

/** The levels a user can choose, most talkative first. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

export type Log = Logger;

/** How log lines are written. */
export interface LogOptions {
  readonly level: LogLevel;
  readonly format: 'pretty' | 'json';
  /** Values that must never be read in a line; looked up at each line, so that a new token is hidden at once. */
  readonly secrets: Secrets;
  /** Where lines go; standard error unless given. */
  readonly output?: DestinationStream;
}

/** Values to hide wherever they turn up: in messages, error texts and stacks. */
export class Secrets {
  /** Longest first, lest one be hidden only as far as another goes. */
  #values: readonly string[] = [];

  /** Hides the value from now on; shorter ones than four characters would blot out innocent text. */
  add(value: string | undefined): void {
    if (value === undefined || value.length < 4) return;
    const encodable = value.replace(/\p{Surrogate}/gu, '\ufffd');
    const forms = [value, encodeURIComponent(encodable), JSON.stringify(value).slice(1, -1)];
    const values = new Set([...this.#values, ...forms]);
    this.#values = [...values].sort((left, right) => right.length - left.length);
  }

  /** The text with each secret replaced. */
  hide(text: string): string {
    let hidden = text;
    for (const value of this.#values) hidden = hidden.replaceAll(value, '[hidden]');
    return hidden;
  }
}

/** A logger on standard error; lines are written at once, so that the last one before an exit is not lost. */
export function createLog({ level, format, secrets, output }: LogOptions): Log {
  const sink = output ?? destination({ dest: 2, sync: true });
  const pretty = prettyFactory({
    colorize: format === 'pretty' && !output && process.stderr.isTTY === true && !process.env['NO_COLOR'],
    translateTime: 'SYS:yyyy-mm-dd HH:MM:ss',
    ignore: 'pid,hostname',
  });
  const stream: DestinationStream = {
    write: (line) => sink.write(format === 'pretty' ? (pretty(line) ?? '') : line),
  };
  return pino({ level, base: null, hooks: { streamWrite: (line) => secrets.hide(line) } }, stream);
}
