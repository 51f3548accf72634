/** A version of Node that our range admits and theirs does not; undefined where theirs admits all of ours. */
export function versionBetween(ours: string, theirs: string): string | undefined {
  // What a range admits changes only at its bounds and, for `^`, with the next major version.
  const bounds = [ours, theirs].flatMap((range) => range.match(/\d+(\.\d+)*/g) ?? []);
  const majors = bounds.flatMap((bound) => [bound, `${(numbersOf(bound)[0] ?? 0) + 1}`]);
  return majors
    .map((version) => numbersOf(version).join('.'))
    .find((version) => admits(ours, version) && !admits(theirs, version));
}

/** Whether a range admits a version, in the forms in which packages write it: `>=`, `^`, `*` and `||`. */
function admits(range: string, version: string): boolean {
  const numbers = numbersOf(version);
  return range.split('||').some((part) => {
    const [, sign, bound = ''] = /^\s*(>=|\^|\*)\s*([\d.x]*)\s*$/.exec(part) ?? [];
    if (sign === undefined) throw new Error(`the range ${range} is in no form that is known here`);
    const lowest = numbersOf(bound);
    return compare(numbers, lowest) >= 0 && (sign !== '^' || numbers[0] === lowest[0]);
  });
}

function numbersOf(version: string): readonly number[] {
  const given = version.split('.').map((number) => Number.parseInt(number, 10) || 0);
  return [0, 1, 2].map((place) => given[place] ?? 0);
}

function compare(left: readonly number[], right: readonly number[]): number {
  const differences = left.map((number, place) => number - (right[place] ?? 0));
  return differences.find((difference) => difference !== 0) ?? 0;
}
