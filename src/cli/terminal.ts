import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';

/** Thrown if an answer is needed but the input has ended, for example that of a pipe. */
export class InputEnded extends Error {}

export interface Terminal {
  /** Asks a question. Enter accepts the proposed answer. */
  ask(question: string, proposal?: string): Promise<string>;
  askHidden(question: string): Promise<string>;
  close(): void;
}

/** Asks on standard output, and reads answers from standard input: from a person, or the lines of a pipe. */
export function openTerminal(signal: AbortSignal): Terminal {
  const { stdin, stdout } = process;
  let isHidden = false;
  // The library shows typed characters by writing them here.
  const output = new Writable({
    write(chunk, _encoding, done) {
      if (!isHidden) stdout.write(chunk);
      done();
    },
  });
  // Without a history, which would offer the password as an answer to the next question.
  const options = { input: stdin, output, terminal: stdin.isTTY === true, historySize: 0, signal };
  const reader = createInterface(options);
  // A terminal that is read key by key sends no signals. A test between two questions must end at Ctrl+C too.
  reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  // An iterator keeps lines that come before their question.
  const lines = reader[Symbol.asyncIterator]();
  const read = async (prompt: string, isSecret: boolean) => {
    reader.setPrompt(prompt);
    reader.prompt();
    isHidden = isSecret;
    const { value, done } = await lines.next();
    isHidden = false;
    // After a pipe, a hidden answer or Ctrl+C, the line on the terminal is still open.
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

/** Asks a yes-or-no question. */
export async function isYes(terminal: Terminal, question: string, proposal: 'y' | 'n'): Promise<boolean> {
  return /^y/i.test(await terminal.ask(`${question} y or n`, proposal));
}

/**
 * Reads a terminal key by key. When the signal aborts, the process ends or the returned function is called, the
 * terminal is reset to its former mode. Returns null if there is no terminal.
 */
export function readKeys(onKey: (key: string) => void, signal: AbortSignal): (() => void) | null {
  const { stdin } = process;
  if (!stdin.isTTY) return null;
  const read = (keys: Buffer) => {
    // In this mode, the terminal sends no signals.
    for (const key of String(keys)) key === '\x03' ? process.kill(process.pid, 'SIGINT') : onKey(key);
  };
  const giveBack = () => {
    stdin.off('data', read).setRawMode(false).pause();
    process.off('exit', giveBack);
    signal.removeEventListener('abort', giveBack);
  };
  // This event also comes if the program ends because of an error.
  process.on('exit', giveBack);
  signal.addEventListener('abort', giveBack);
  stdin.setRawMode(true).on('data', read).resume();
  return giveBack;
}
