/** Reads until the abort or the end of the program, which give the terminal its former mode back. */
export function readKeys(onKey: (key: string) => void, signal: AbortSignal): void {
  const { stdin } = process;
  if (!stdin.isTTY) return;
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
}
