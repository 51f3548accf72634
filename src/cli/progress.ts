/** What progress is shown on, as far as it matters. */
interface ProgressOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Shows how far something is. */
interface Progress {
  /** Replaces what was shown before. */
  readonly show: (words: string) => void;
  readonly erase: () => void;
}

const startOfEmptyLine = '\r\x1b[2K';

/** Progress that somebody at a terminal sees, and nobody else. */
export function progressOn(output: ProgressOutput): Progress {
  if (output.isTTY !== true) return { show: () => {}, erase: () => {} };
  return {
    show: (words) => output.write(`${startOfEmptyLine}${words}`),
    erase: () => output.write(startOfEmptyLine),
  };
}
