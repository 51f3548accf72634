import { createLog, type Log, type LogLevel } from '../../src/base/log.ts';
import { Secrets } from '../../src/base/secrets.ts';

/** A log whose lines a test can read. */
export interface LogLines {
  readonly log: Log;
  readonly secrets: Secrets;
  /** All lines so far. */
  readonly text: string;
  /** The messages with their levels, as `warn: gone`. Only for the JSON format. */
  readonly messages: readonly string[];
}

/** Creates a log, by default at debug level and in JSON. */
export function logLines(level: LogLevel = 'debug', format: 'pretty' | 'json' = 'json'): LogLines {
  const secrets = new Secrets();
  const lines: string[] = [];
  const output = { write: (line: string) => void lines.push(line) };
  const log = createLog({ level, format, secrets, output });
  return {
    log,
    secrets,
    get text() {
      return lines.join('');
    },
    get messages() {
      return lines.map((line) => {
        const { level, msg } = JSON.parse(line) as { level: string; msg: string };
        return `${level}: ${msg}`;
      });
    },
  };
}
