interface Progress {
  /** Replaces the text that was shown before. */
  readonly show: (words: string) => void;
  readonly erase: () => void;
}

const startOfEmptyLine = '\r\x1b[2K';

/** Shows progress on a terminal, and nothing anywhere else. */
export function progressOn(output: { readonly isTTY?: boolean; write(text: string): unknown }): Progress {
  const write = (text: string) => output.isTTY === true && output.write(text);
  return { show: (words) => write(startOfEmptyLine + words), erase: () => write(startOfEmptyLine) };
}
