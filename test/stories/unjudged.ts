/**
 * Stories that the oracle does not judge, by their names, each with the reason. The first group changes what passes between
 * the bridge and the others beneath the eyes of the oracle. What the oracle says of the second was not looked into yet, so
 * that each may hide a fault of the bridge: none may be added.
 */
const unjudgedStories: readonly (readonly [name: RegExp, reason: string])[] = [
  [/^one that the broker delivers again/, 'the story forges the message on the wire'],
  [
    /^does nothing but what it asks for, once/,
    'the messages of the hostile client are not told to the oracle',
  ],
  [/^neither does any other field, whatever stands in it/, 'the story changes the answers of the cloud'],

  [/^that is asked thing by thing, these are shown/, 'the water of today is shown for 33 min'],
];

/** Whether the oracle judges the story of that name. */
export function isJudged(name: string): boolean {
  return !unjudgedStories.some(([pattern]) => pattern.test(name));
}
