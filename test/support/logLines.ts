import { createLog, type Log, type LogLevel } from '../../src/base/log.ts';
import { Secrets } from '../../src/base/secrets.ts';

/** A log that keeps its lines. */
export interface LogLines {
  readonly log: Log;
  readonly secrets: Secrets;
  /** What was written so far. */
  readonly text: string;
  /** The messages with their levels, as `warn: gone`; of the JSON format only. */
  readonly messages: readonly string[];
}

/** A log whose lines can be read, at debug level in JSON unless told otherwise. */
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
