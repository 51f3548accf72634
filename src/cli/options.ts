import { InvalidArgumentError, Option } from 'commander';

/** An option with a text. The next word is its text, unless that word is also an option. */
export function textOption(flags: string, description: string, pattern = /^/, what = 'text'): Option {
  return new Option(flags, description).argParser((text: string, previous: string | undefined) => {
    if (text.startsWith('--')) throw new InvalidArgumentError('The value is missing.');
    if (!pattern.test(text)) throw new InvalidArgumentError(`It must be ${what}.`);
    if (previous !== undefined) throw new InvalidArgumentError('It was given twice.');
    return text;
  });
}

export function numberOption(flags: string, max: number, description: string): Option {
  return new Option(flags, description).argParser((text: string) => {
    if (/^\d{1,15}$/.test(text) && Number(text) <= max) return Number(text);
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${max}.`);
  });
}
