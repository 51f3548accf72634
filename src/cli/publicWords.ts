import { constants } from 'node:os';
import { operationNames } from '../cloud/operations.ts';
import { optionRows } from '../config/schema.ts';
import { isAtOrBelow } from '../config/tree.ts';
import { pollNames } from '../polling/pollStatus.ts';

/** Words that our own messages are made of. A message that gets a new word shows it only once it is here. */
const ownWords = `
  a about accept accepts access account address addresses after again all also an and another answer answered answers
  any anyone are as ask asks at attempt attempts authority authorized be because been before being body both bridge
  bridges broker but by bytes can cannot certificate changed changes check choose client closed cloud code command
  commands complete computer condition conflict connect connected connection connections contains content could count
  data denied did different directory disk does done down e-mail earlier embedded empty end ended error errors every
  exist expected expired fail failed false field fields file files filter folder for format found free fresh from full
  further future given goes got handshake has have host hosts http https hub hubs id ids if in incident incidents
  incomplete interrupted invalid is issuer it its json keep key kinds known larger later left less level limit limits
  lines list listens local logged long longer lost machine many may mean means message messages minimum missing month
  more most mqtt mqtts must name named needs network never next no nobody none not nothing now number object of off
  offer offers offline on once one only open operation option options or other others out own page pages password
  permitted port previous problem problems program promised properties property proxy published rate reach reached
  read readable reading reads reason record records redirect refused refuses rejected rejects request requests
  required reset retrying right rights route running runs s safe same saved schedule seconds secret self-signed sent
  server session several shared should sign-in signal signals signed skipped some sonic sonic2mqtt sonics soon speak
  stalled started starts state stopped stopping succeeded such switched system take takes telemetry text than that the
  their them then there they this time timed timeout tls to together too topic trouble true twice type unable
  unavailable unexpected unit unknown unless unreachable until up use used user username valid value values valve
  valves verify version wait waited waiting was way what when where which whole with within without words works write
  written wrong yet you your
`;

const words = new Set([
  ...ownWords.trim().split(/\s+/),
  ...[...operationNames, ...pollNames],
  ...Object.keys(constants.errno).map((code) => code.toLowerCase()),
  ...['enotfound', 'eai_again'],
]);

/** Times, numbers that say what they count, and the words between spaces and punctuation. */
const pieces =
  /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|\b(?:answered|HTTP|line|page|status) \d{1,4}\b|[^\s"'()[\]{}<>,;:!?=…]+/g;

/** A message with … for each word that our own messages do not have: a name, an ID, an address, a text of the cloud. */
export function publicWords(message: string): string {
  const shown = message.replace(pieces, (piece) => (isPublic(piece) ? piece : '…'));
  return shown.replace(/…(?:[\s"'()[\]{}<>,;:!?=…]*…)+/g, '…');
}

function isPublic(piece: string): boolean {
  const word = piece.replace(/\.$/, '');
  if (/[ T]\d/.test(word) || words.has(word.toLowerCase())) return true;
  return optionRows.some(({ path }) => isAtOrBelow(path, word));
}
