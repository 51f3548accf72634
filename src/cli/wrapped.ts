/**
 * The words in lines of at most so many characters, as far as words go, each line after the first with the indentation of
 * the first.
 */
export function wrapped(words: readonly string[], width: number, indent = ''): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    const longer = line === '' ? `${indent}${word}` : `${line} ${word}`;
    if (line !== '' && longer.length > width) {
      lines.push(line);
      line = `${indent}${word}`;
    } else {
      line = longer;
    }
  }
  return line === '' ? lines : [...lines, line];
}
