/** The parts of an output stream that progress needs. */
interface ProgressOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Shows progress to a person. */
interface Progress {
  /** Replaces the text that was shown before. */
  readonly show: (words: string) => void;
  readonly erase: () => void;
}

const startOfEmptyLine = '\r\x1b[2K';

/** Shows progress on a terminal, and nothing anywhere else. */
export function progressOn(output: ProgressOutput): Progress {
  if (output.isTTY !== true) return { show: () => {}, erase: () => {} };
  return {
    show: (words) => output.write(`${startOfEmptyLine}${words}`),
    erase: () => output.write(startOfEmptyLine),
  };
}
