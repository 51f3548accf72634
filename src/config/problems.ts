import type { z } from 'zod';
import { didYouMean, nearest } from '../base/nearest.ts';
import { optionRows } from './schema.ts';
import { isAtOrBelow, isTree, type Path, type Tree, valueAt } from './tree.ts';

/** A problem with one option; with the file as a whole if the path is empty. */
export interface ConfigProblem {
  readonly path: Path;
  /** The line in the file, if the path alone does not identify it. */
  readonly line?: number;
  /** The rest of a sentence that begins with "mqtt.keepalive (line 12): ". */
  readonly message: string;
}

/** The place of a problem: the known option or section, and the line in the file. Each is null if there is none. */
export interface ConfigPlace {
  readonly option: string | null;
  readonly line: number | null;
  /** The problem without its place. */
  readonly words: string;
}

/** The option or section to which a path leads, without unknown keys, because these may be any text. */
export function knownPart(path: Path): string | null {
  const parts = path.map((_, index) => path.slice(0, path.length - index).join('.'));
  return parts.find((part) => optionRows.some((row) => isAtOrBelow(row.path, part))) ?? null;
}

/** A configuration that cannot be used. Each problem is one line for people, and none repeats a secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];
  /** The places of the problems, as far as they are known. Option and line contain no values. */
  readonly places: readonly ConfigPlace[];

  /** If no message is given, the message is the list of problems. */
  constructor(problems: readonly string[], message?: string, places: readonly ConfigPlace[] = []) {
    // Keys and paths come from outside, so they may contain line breaks or escape sequences for a terminal.
    const lines = problems.map((each) => each.replaceAll(/\p{Cc}+/gu, ' '));
    super(message ?? ['The configuration is invalid:', ...lines.map((each) => `  ${each}`)].join('\n'));
    this.problems = lines;
    this.places = places;
  }
}

export const missingColon = 'a key must be followed by a colon and a space';

export function schemaProblems(error: z.ZodError, tree: Tree): ConfigProblem[] {
  return error.issues.flatMap(withoutUnions).flatMap((issue): ConfigProblem[] => {
    if (issue.code !== 'unrecognized_keys')
      return [{ path: issue.path, message: describeIssue(issue, tree) }];
    return issue.keys.map((key) => unknownKey(issue.path, key));
  });
}

/** If an option has several kinds of values: only the issues about the kind that was given. */
function withoutUnions(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const isOther = ({ code, path }: z.core.$ZodIssue) => code === 'invalid_type' && path.length === 0;
  const meant = issue.errors.find((issues) => !issues.some(isOther)) ?? issue.errors[0] ?? [];
  return meant.map((each) => ({ ...each, path: [...issue.path, ...each.path] }));
}

function describeIssue(issue: z.core.$ZodIssue, tree: Tree): string {
  const value = valueAt(tree, issue.path);
  if (value === undefined) return 'is required';
  const words = issue.code === 'invalid_value' ? issue.values.filter((each) => typeof each === 'string') : [];
  const near = typeof value === 'string' ? nearest(value, words) : null;
  return `${issue.message}${givenValue(value, issue.path)}${didYouMean(near)}`;
}

/** The given value for a message; empty if it is, or may be, a secret. */
function givenValue(value: unknown, path: Path): string {
  if (Array.isArray(value)) return '. Got a list';
  if (isTree(value)) return '. Got a map';
  const option = optionRows.find((row) => isAtOrBelow(path.join('.'), row.path));
  // Text in place of a section may be anything, even a secret.
  if (!option || option.secret) return '';
  if (typeof value !== 'string') return `. Got ${String(value)}`;
  const mayHoldCredentials = /@|:\/\//.test(value);
  return value === '' || value.length > 80 || mayHoldCredentials ? '' : `. Got ${JSON.stringify(value)}`;
}

function unknownKey(section: Path, key: string): ConfigProblem {
  // In {password:hush}, the key is `password:hush`, so the text after the colon may be a secret.
  const [name = '', ...rest] = key.split(':');
  const path = [...section, name];
  if (rest.length > 0) return { path, message: missingColon };
  const start = section.map((step) => `${String(step)}.`).join('');
  const siblings = optionRows
    .filter((row) => row.path.startsWith(start))
    .map((row) => row.path.slice(start.length).split('.')[0] ?? '');
  const [elsewhere = null, ...others] = optionRows
    .map((row) => row.path)
    .filter((each) => each.endsWith(`.${key}`));
  // An unknown host or port is probably not meant for the embedded broker, so that is not proposed.
  const moved = others.length > 0 || elsewhere?.startsWith('mqtt.embedded.') ? null : elsewhere;
  return { path, message: `unknown key${didYouMean(nearest(key, siblings) ?? moved)}` };
}
