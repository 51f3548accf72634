interface Progress {
  readonly show: (words: string) => void;
  readonly erase: () => void;
}

const startOfEmptyLine = '\r\x1b[2K';

export function progressOn(output: { readonly isTTY?: boolean; write(text: string): unknown }): Progress {
  const write = (text: string) => output.isTTY === true && output.write(text);
  return { show: (words) => write(startOfEmptyLine + words), erase: () => write(startOfEmptyLine) };
}
