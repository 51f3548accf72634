import { didYouMean, nearest } from '../base/nearest.ts';
import type { CallFault } from '../cloud/fields.ts';
import {
  type AnyOperation,
  type Call,
  isOperationName,
  type OperationName,
  operationNames,
  operationRow,
} from '../cloud/operations.ts';
import { checkCall } from '../cloud/request.ts';
import { UsageError } from './command.ts';
import { exampleBody, type OperationOptions, optionOf, optionsOf } from './operationOptions.ts';

/** Options of `call` that no operation gives rise to. */
export const ownOptions = ['body', 'all-pages', 'list'] as const;
const flags: readonly string[] = ['all-pages', 'list'];

/** A command line of `call`, as far as it can be understood without its body. */
export interface CallLine {
  readonly name: OperationName;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** As typed: JSON, `-` or `@FILE`; null without one. */
  readonly body: string | null;
  readonly isAllPages: boolean;
  readonly faults: readonly LineFault[];
}

/** Something wrong with the words of a line. */
interface LineFault {
  /** The option that it is about, without the dashes; whatever else is wrong with that need not be told. */
  readonly option: string | null;
  readonly words: string;
}

/** The JSON that was read for `--body`, or what is wrong with it. */
export type ReadBody = { readonly value: unknown } | { readonly fault: string };

/** An option as it was typed. */
interface Typed {
  readonly dashed: string;
  /** In kebab-case, without the dashes. */
  readonly option: string;
  readonly value: string | null;
}

/** Reads the words behind `call`; `list` where only the catalogue is asked for. Throws UsageError. */
export function readCallLine(words: readonly string[]): CallLine | 'list' {
  const { bare, typed } = splitWords(words);
  if (typed.some(({ option }) => option === 'list')) {
    if (words.length === 1 && words[0] === '--list') return 'list';
    throw new UsageError('call: --list stands alone', 'call --help');
  }
  const [word, ...strays] = bare;
  if (word === undefined) throw new UsageError('call: which operation?', 'call --list');
  const name = operationNamed(word);
  const given = readOptions(operationRow(name), typed);
  const lost = strays.map((stray) => ({ option: null, words: `${stray} belongs to no option` }));
  return { ...given, name, faults: [...lost, ...given.faults] };
}

/** The word that stands where the operation's name should; undefined where there is none. */
export function operationWord(words: readonly string[]): string | undefined {
  return splitWords(words).bare[0];
}

/** The operation that a word names, in snake_case or kebab-case; throws UsageError. */
export function operationNamed(word: string): OperationName {
  const name = word.replaceAll('-', '_');
  if (isOperationName(name)) return name;
  throw new UsageError(
    `there is no operation ${word}${didYouMean(nearest(name, operationNames))}`,
    'call --list',
  );
}

/** The call of a line and its body; throws UsageError with everything that is wrong with them. */
export function callOf(line: CallLine, body: ReadBody | null): Call {
  const { name, params, query } = line;
  const row = operationRow(name);
  const value = body && 'value' in body ? body.value : undefined;
  const call = { params, ...(row.query && { query }), ...(value !== undefined && { body: value }) };
  // The check of a call takes null for no body at all.
  const bodyFault = body && 'fault' in body ? body.fault : value === null ? 'must be an object' : null;
  const faults = [
    ...line.faults,
    ...(bodyFault === null ? [] : [{ option: 'body', words: `--body ${bodyFault}` }]),
  ];
  const told = new Set(faults.map(({ option }) => option));
  const isUntold = ({ place, name: field }: CallFault) =>
    !told.has(place === 'body' ? 'body' : optionOf(field ?? '').slice(2));
  const found = checkCall(row, call).faults.filter(isUntold);
  const isBodyMissing = line.body === null && found.some(({ place }) => place === 'body');
  const all = [
    ...faults.map(({ words }) => words),
    ...found.filter(({ place }) => place !== 'body' || !isBodyMissing).map(wordsOf),
    ...(isBodyMissing ? [`--body is missing, as in ${bodyHint(optionsOf(row))}`] : []),
  ];
  if (all.length > 0) {
    const lines = [...new Set(all)].map((words) => `${name}: ${words}`);
    throw new UsageError(lines.join('\n'), `call ${name} --help`);
  }
  // Its parts were checked against the row.
  return { operation: name, ...call } as Call;
}

/** Tells options and their values from words that stand alone. */
function splitWords(words: readonly string[]): { bare: readonly string[]; typed: readonly Typed[] } {
  const bare: string[] = [];
  const typed: Typed[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    if (!word.startsWith('-') || word === '-') {
      bare.push(word);
      continue;
    }
    const [dashed = '', inline] = splitOnce(word, '=');
    const option = dashed.replace(/^--?/, '').replaceAll('_', '-');
    const next = words[at + 1];
    const isNextValue =
      inline === undefined && !flags.includes(option) && next !== undefined && !next.startsWith('--');
    typed.push({ dashed, option, value: inline ?? (isNextValue ? next : null) });
    if (isNextValue) at++;
  }
  return { bare, typed };
}

function splitOnce(text: string, mark: string): [string, string?] {
  const at = text.indexOf(mark);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + mark.length)];
}

function readOptions(row: AnyOperation, typed: readonly Typed[]): Omit<CallLine, 'name'> {
  const known = optionsOf(row);
  const params: Record<string, string> = {};
  const query: Record<string, unknown> = {};
  const faults: LineFault[] = [];
  const seen = new Set<string>();
  let body: string | null = null;
  for (const each of typed) {
    const { dashed, option, value } = each;
    const fault = (words: string) => faults.push({ option, words: `--${option} ${words}` });
    const own = known.options.find(({ name }) => optionOf(name) === `--${option}`);
    const isKnown = own !== undefined || option === 'body' || option === 'all-pages';
    if (!isKnown || !dashed.startsWith('--')) faults.push(strangerFault(each, known));
    else if (seen.has(option)) fault('is given twice');
    else if (option === 'all-pages' && value !== null) fault('takes no value');
    else if (option === 'body' && value === null)
      fault('needs a value: JSON, - for standard input, or @FILE');
    else if (own && value === null) fault(`needs a value: ${own.takes}`);
    else if (option === 'body') body = value;
    else if (own?.place === 'params') params[own.name] = value ?? '';
    else if (own?.place === 'query') query[own.name] = readValue(row, own.name, value ?? '');
    seen.add(option);
  }
  const isAllPages = seen.has('all-pages');
  if (isAllPages && !known.isList) faults.push({ option: null, words: '--all-pages is for lists only' });
  if (isAllPages && known.isList && seen.has('page')) {
    faults.push({ option: null, words: '--page and --all-pages exclude each other' });
  }
  return { params, query, body, isAllPages, faults };
}

function strangerFault({ dashed, option, value }: Typed, { options, body }: OperationOptions): LineFault {
  const field = body?.fields.find(({ name }) => optionOf(name) === `--${option}`);
  if (body && field) {
    const hint = bodyHint({ body: { ...body, fields: [field] } }, { [field.name]: value });
    return { option: 'body', words: `${field.name} belongs into the body: ${hint}` };
  }
  const known = [...options.map(({ name }) => optionOf(name)), ...ownOptions.map(optionOf)];
  return { option, words: `there is no option ${dashed}${didYouMean(nearest(`--${option}`, known))}` };
}

function bodyHint(
  { body }: Pick<OperationOptions, 'body'>,
  typed?: Readonly<Record<string, string | null>>,
): string {
  return `--body '${JSON.stringify(body ? exampleBody(body, typed) : {})}'`;
}

/** The value of a field of the query: a number or a truth value where the row takes no text. */
function readValue(row: AnyOperation, name: string, text: string): unknown {
  const readings = [
    ...(text === 'true' || text === 'false' ? [text === 'true'] : []),
    ...(/^\d{1,15}$/.test(text) ? [Number(text)] : []),
  ];
  const isAccepted = (value: unknown) =>
    !checkCall(row, { query: { [name]: value } }).faults.some(({ place }) => place === 'query');
  return readings.find(isAccepted) ?? text;
}

function wordsOf({ place, name, words }: CallFault): string {
  if (place !== 'body') return `${optionOf(name ?? '')} ${words}`;
  return name === null ? `--body ${words}` : `--body: ${name} ${words}`;
}
