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
  [/^the only property shows it, where its ids are/, 'the story changes the answers of the cloud'],
  [
    /^as it has none, is no reason for a Wi-Fi sonic/,
    'a device without any link is never reachable for the oracle',
  ],
  [/^a battery that says a critical one/, 'the story changes the answers of the cloud'],
  [/^neither does any other field, whatever stands in it/, 'the story changes the answers of the cloud'],
  [
    /^it says what it is, and asks for no other password: html/,
    'a page with status 200 passes for a sign-in',
  ],

  [/^'.+' is told in words, once, and tried until it works/, 'a leak is not known, and health is ok'],
  [/^bodies are shorter than promised/, 'the position of a valve is shown for 8 min'],
  [/^that is asked thing by thing, these are shown/, 'the water of today is shown for 33 min'],
  [/^the log says every ten seconds how far it is/, 'a leak is not known, and health is ok'],
  [/^a list that changes while it is read/, 'a leak is not known, and health is ok'],
  [/^one that changes whenever it is read/, 'a leak is not known, and health is ok'],
  [/^of a version that takes the devices/, 'a leak is not known, and health is ok'],
  [/^are published again within minutes/, 'a leak is not known, and health is ok'],
  [/: doomsday$/, 'the list of incidents is not asked for, for 148 s'],
  [/^for two accounts delete nothing of each other/, 'a leak is not known, and health is ok'],
  [/^topics tell what only its entities told/, 'what it says was not noted'],
];

/** Whether the oracle judges the story of that name. */
export function isJudged(name: string): boolean {
  return !unjudgedStories.some(([pattern]) => pattern.test(name));
}
