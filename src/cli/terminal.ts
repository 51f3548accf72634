import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';

/** Thrown where an answer was wanted and the input has ended, as a pipe does. */
export class InputEnded extends Error {}

/** Somebody who answers questions. */
export interface Terminal {
  /** Asks, and proposes an answer that Enter takes. */
  ask(question: string, proposal?: string): Promise<string>;
  /** The same without showing what is typed. */
  askHidden(question: string): Promise<string>;
  close(): void;
}

/** Questions on standard output, answers from standard input: a person's, or the lines of a pipe. */
export function openTerminal(signal: AbortSignal): Terminal {
  const { stdin, stdout } = process;
  let isHidden = false;
  // The terminal shows what is typed by writing it here.
  const output = new Writable({
    write(chunk, _encoding, done) {
      if (!isHidden) stdout.write(chunk);
      done();
    },
  });
  // Without a history, which would show the password at the next question.
  const options = { input: stdin, output, terminal: stdin.isTTY === true, historySize: 0, signal };
  const reader = createInterface(options);
  // A terminal that is read key by key sends no signals. What runs between two questions must end too.
  reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  // Lines that come before their question are kept for it.
  const lines = reader[Symbol.asyncIterator]();
  const read = async (prompt: string, isSecret: boolean) => {
    reader.setPrompt(prompt);
    reader.prompt();
    isHidden = isSecret;
    const { value, done } = await lines.next();
    isHidden = false;
    // Neither a pipe, nor a hidden answer, nor Ctrl+C has ended the line.
    if (isSecret || done || !stdin.isTTY) stdout.write('\n');
    if (done) throw new InputEnded();
    return String(value);
  };
  return {
    async ask(question, proposal = '') {
      const answer = await read(proposal === '' ? `${question}: ` : `${question} [${proposal}]: `, false);
      return answer.trim() || proposal;
    },
    askHidden: (question) => read(`${question} (not shown): `, true),
    close: () => reader.close(),
  };
}

/** Asks whether something shall be done. Enter means no. */
export async function isYes(terminal: Terminal, question: string): Promise<boolean> {
  return /^y/i.test(await terminal.ask(question, 'n'));
}

/**
 * Reads a terminal key by key until the signal aborts or the process ends, and gives it back then, or when the returned function
 * is called. Null without a terminal.
 */
export function readKeys(onKey: (key: string) => void, signal: AbortSignal): (() => void) | null {
  const { stdin } = process;
  if (!stdin.isTTY) return null;
  const read = (keys: Buffer) => {
    // Such a terminal sends no signals.
    for (const key of String(keys)) key === '\x03' ? process.kill(process.pid, 'SIGINT') : onKey(key);
  };
  const giveBack = () => {
    stdin.off('data', read).setRawMode(false).pause();
    process.off('exit', giveBack);
    signal.removeEventListener('abort', giveBack);
  };
  // A program that ends by a mistake emits this too.
  process.on('exit', giveBack);
  signal.addEventListener('abort', giveBack);
  stdin.setRawMode(true).on('data', read).resume();
  return giveBack;
}
