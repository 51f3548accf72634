/**
 * Stories that the oracle does not judge, by their names, each with the reason. Each may hide a fault of the bridge: none
 * may be added for another reason than that nobody outside can tell what is true there.
 */
const unjudgedStories: readonly (readonly [name: RegExp, reason: string])[] = [
  [
    /^(neither does any other field, whatever stands in it|is understood in the words of old shapes)/,
    'the records say `true` of a link, which the bridge shows as the word for it, `connected`',
  ],
  [
    /^(is shared with another bridge of the same base topic|a broker that ends each connection at once)/,
    'a bridge that another one has put out, or seems to have, reads nothing, and the oracle does not know the other one',
  ],
];

/** Whether the oracle judges the story of that name. */
export function isJudged(name: string): boolean {
  return !unjudgedStories.some(([pattern]) => pattern.test(name));
}
