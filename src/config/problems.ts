import type { z } from 'zod';
import { didYouMean, nearest } from '../base/nearest.ts';
import { optionCalled } from './otherNames.ts';
import { optionRows } from './schema.ts';
import { isAtOrBelow, isTree, type Path, type Tree, valueAt } from './tree.ts';

/** Something wrong with one option; no path: with the file as a whole. */
export interface Problem {
  readonly path: Path;
  /** Where the path alone does not lead to the line in the file. */
  readonly line?: number;
  /** Continues "mqtt.keepalive (line 12): ". */
  readonly what: string;
}

/** What is wrong with `key value` and `key:value`. */
export const missingColon = 'a key must be followed by a colon and a space';

/** What the schema finds wrong, in words; `tree` is what it looked at. */
export function schemaProblems(error: z.ZodError, tree: Tree): Problem[] {
  return error.issues.flatMap(decided).flatMap((issue): Problem[] => {
    if (issue.code !== 'unrecognized_keys') return [{ path: issue.path, what: explain(issue, tree) }];
    return issue.keys.map((key) => unknownKey(issue.path, key));
  });
}

/** Where one of several kinds may be given, what is wrong with the kind that was; the first where it is none of them. */
function decided(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const isOther = ({ code, path }: z.core.$ZodIssue) => code === 'invalid_type' && path.length === 0;
  const meant = issue.errors.find((issues) => !issues.some(isOther)) ?? issue.errors[0] ?? [];
  return meant.map((each) => ({ ...each, path: [...issue.path, ...each.path] }));
}

function explain(issue: z.core.$ZodIssue, tree: Tree): string {
  const value = valueAt(tree, issue.path);
  if (value === undefined) return 'is required';
  const near =
    issue.code === 'invalid_value' && typeof value === 'string'
      ? nearest(
          value,
          issue.values.filter((each) => typeof each === 'string'),
        )
      : null;
  return `${issue.message}${shown(value, issue.path)}${didYouMean(near)}`;
}

/** What was given, unless it is or may hold a secret. */
function shown(value: unknown, path: Path): string {
  if (Array.isArray(value)) return '; got a list';
  if (isTree(value)) return '; got a map';
  const option = optionRows.find((row) => isAtOrBelow(path.join('.'), row.path));
  // Where a section belongs, text may be anything.
  if (!option || option.secret) return '';
  if (typeof value !== 'string') return `; got ${String(value)}`;
  const mayHoldCredentials = /@|:\/\//.test(value);
  return value === '' || value.length > 80 || mayHoldCredentials ? '' : `; got ${JSON.stringify(value)}`;
}

function unknownKey(section: Path, key: string): Problem {
  // In {password:hush} the colon and what follows belong to the key; it may be a secret.
  const [name = '', ...rest] = key.split(':');
  const path = [...section, name];
  if (rest.length > 0) return { path, what: missingColon };
  const start = section.map((step) => `${String(step)}.`).join('');
  const siblings = optionRows
    .filter((row) => row.path.startsWith(start))
    .map((row) => row.path.slice(start.length).split('.')[0] ?? '');
  const elsewhere = optionRows.filter((row) => row.path.endsWith(`.${key}`));
  const moved = elsewhere.length === 1 ? (elsewhere[0]?.path ?? null) : null;
  const meant = optionCalled(`${start}${key}`) ?? nearest(key, siblings) ?? moved;
  return { path, what: `unknown key${didYouMean(meant)}` };
}
