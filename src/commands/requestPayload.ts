import { didYouMean, nearest } from '../base/nearest.ts';
import { repeatedKey } from '../base/repeatedKey.ts';
import type { BrokerMessage } from '../broker/message.ts';
import { repeatedWords } from '../homeassistant/command.ts';
import { payloadFlaw } from './payloadFlaw.ts';

/** What a request over MQTT says. */
export interface RequestPayload {
  /** The parts of its call; nothing in them is checked. */
  readonly parts: { readonly params?: unknown; readonly query?: unknown; readonly body?: unknown };
  /** What is to be given back with the answer: its JSON as it came, null where there is none. */
  readonly transaction: string | null;
  /** What is wrong with the request, in words; null if nothing is. */
  readonly problem: string | null;
}

const mostTransactionCharacters = 1_000;
const keys: readonly string[] = ['params', 'query', 'body', 'transaction'];

/** Reads a request; one without a payload asks for nothing in particular. */
export function readRequest(message: Pick<BrokerMessage, 'payload' | 'isText'>): RequestPayload {
  const flaw = payloadFlaw(message);
  if (flaw !== null) return refused(flaw);
  const { payload } = message;
  const text = payload.trim() === '' ? '{}' : payload;
  const content = parse(text);
  if (content === undefined) return refused('the payload is not JSON');
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    return refused('the payload must be a JSON object, for example {"params":{…},"body":{…}}');
  }
  const transaction = valueTexts(text).get('transaction') ?? null;
  if (transaction !== null && transaction.length > mostTransactionCharacters) {
    return refused(
      `transaction has ${transaction.length} characters; at most ${mostTransactionCharacters} are taken`,
    );
  }
  const { params, query, body } = content as Record<string, unknown>;
  const strangers = Object.keys(content)
    .filter((key) => !keys.includes(key))
    .slice(0, 5)
    .map((key) => key.slice(0, 80));
  const repeated = repeatedKey(text);
  const problems = [
    ...strangers.map((key) => `${key} is not known${didYouMean(nearest(key, keys))}`),
    ...(repeated === null ? [] : [repeatedWords(repeated)]),
  ];
  return { parts: { params, query, body }, transaction, problem: problems.join('; ') || null };
}

function refused(problem: string): RequestPayload {
  return { parts: {}, transaction: null, problem };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The text of each value in a JSON object: a number that is read and written again need not be the same, and an id of
 * twenty digits is not.
 */
function valueTexts(json: string): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  let level = 0;
  let word = '';
  let key = '';
  let start = 0;
  for (const { 0: token, index } of json.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}:,]/g)) {
    if (token === '{' || token === '[') level += 1;
    else if (level === 1 && token === ':') {
      key = JSON.parse(word);
      start = index + 1;
    } else if (level === 1 && (token === ',' || token === '}')) {
      if (start > 0) texts.set(key, json.slice(start, index).trim());
    } else if (level === 1 && token.startsWith('"')) word = token;
    if (token === '}' || token === ']') level -= 1;
  }
  return texts;
}
