import { constants } from 'node:os';
import { operationNames } from '../cloud/operations.ts';
import { optionRows } from '../config/schema.ts';
import { isAtOrBelow } from '../config/tree.ts';
import { pollNames } from '../polling/pollStatus.ts';

/** Words that our own messages are made of. A message that gets a new word shows it only once it is here. */
const ownWords = `
  a about above accept accepted accepts access account acknowledge action add address addresses after again ago alerts
  all allowed already also an and announced another answer answered answers any anyone app appliances are arrived as
  ask asked asks assistant at attempt attempts authority authorized away battery be because been before beginning
  being belongs body both bridge bridges broke broker built-in but by bytes ca call called caller calls came can
  cannot carried categories cert certificate change changed changes characters charset check choose cleanup clear
  client clock close closed closes cloud code command commands complete completely computer condition configuration
  config configured conflict connack connect connected connecting connection connections contains content content-encoding
  controls correct could count crashed cut damaged data day debug decompressed deeply deleted denied device devices
  did different differs directory disk dns does done down dropped dropping e-mail each earlier embedded empty end
  ended ends entities environment error errors every everything example exist expected expired external fail failed
  false field fields file files filter first flag flow folder for force form format found free fresh from full further
  future gets give given giving goes going got handshake has have health hl-signature home host hosts http https hub
  hubs id ids if in incident incidents incomplete index instead internal interrupted invalid is issuer it its itself
  json keep keepalive keeps kept key kib kind kinds know known large larger last later left less level limit limits
  lines list listening listens local logged long longer look lost machine manages many matches maximum may maybe mb
  mean means measurements message messages met method minimum minute missing mistake month more mosquitto most moves
  mqtt mqtts ms must name named names needs nested network never new newer next no nobody none not nothing now number
  object of off offer offers offline old older on once one ones online only open opened operation option options or
  other others out overwritten own packed packing page pages parameter params part password path payload per perhaps
  permitted poll polling port pressure previous problem problems program promised properties property protocol proxy
  publish published publishes publishing query rate reach reached read readable reading reads reason record records
  redirect refused refuses register registered registering rejected rejects removed removing repeatedly replaced
  replaces report request requested requests required reset restart restarts result retain retained retrying right rights route routes
  running runs s safe same saved says schedule seconds secret seen selects self-signed send sending sends sent served
  server session set setting several shared should shown sign sign-in signal signals signature signed signing size
  skipped slow so some something sonic sonic2mqtt sonics soon speak stalled start started starts state status stay
  still stop stopped stopping stops stored subscription succeeded such support supports switched system systemd take taken
  takes tcp telemetry temperature test tests text than that the their them then there they this through time timed
  timeout tls to together too took topic total totals transaction trouble true try trying twice type unable
  unavailable unexpected unicode unit unknown unless unpacked unreachable unreadable until up url use used user
  username uses using utc utf valid value values valve valves vendor verify version wait waited waiting was water way
  webhook went were what when where whether which while whole wi-fi will with within without words works write written
  wrong yet you your
`;

const words = new Set([
  ...ownWords.trim().split(/\s+/),
  ...[...operationNames, ...pollNames],
  ...Object.keys(constants.errno).map((code) => code.toLowerCase()),
  ...['enotfound', 'eai_again'],
]);

/** Times, numbers that say what they count, and the words between spaces and punctuation. */
const pieces =
  /\b\d\d:\d\d UTC\b|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|\b(?:answered|HTTP|line|page|status) \d{1,4}\b|[^\s"'()[\]{}<>,;:!?=…]+/g;

/** A message with … for each word that our own messages do not have: a name, an ID, an address, a text of the cloud. */
export function publicWords(message: string): string {
  const shown = message.replace(pieces, (piece) => (isPublic(piece) ? piece : '…'));
  return shown.replace(/…(?:[\s"'()[\]{}<>,;:!?=…]*…)+/g, '…');
}

function isPublic(piece: string): boolean {
  const word = piece.replace(/\.$/, '');
  if (/[ T]\d|\d UTC$/.test(word) || words.has(word.toLowerCase())) return true;
  return optionRows.some(({ path }) => isAtOrBelow(path, word));
}
