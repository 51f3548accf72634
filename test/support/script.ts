import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, inject, it } from 'vitest';

/** What a verb does, and what it says at its line, if anything. */
export type Verbs<World> = Readonly<Record<string, (world: World, ...words: string[]) => unknown>>;

/** A state as a text, of which a change is told; or all that has happened, of which the new is told. */
export type Fact<World> = (world: World) => string | readonly string[];

/** How the stories of a file are played. */
export interface Stage<World> {
  /** Makes the world of a story from what stands after `@`. */
  readonly open: (settings: readonly string[]) => World | Promise<World>;
  readonly pass: (world: World, ms: number) => unknown;
  readonly verbs: Verbs<World>;
  /** The fact of this name, for `watch` and `see`. */
  readonly fact: (name: string) => Fact<World>;
  /** Puts IDs in place of names, and names in place of IDs. */
  readonly idsIn?: (world: World, words: string) => string;
  readonly namesIn?: (world: World, told: string) => string;
}

/** A line of a story: what happens, and what is told of it. */
interface Line {
  readonly acts: string;
  readonly told: string;
}

/** A row `= word = word | told // told` of a story that is played once for each: what it tells where others tell otherwise. */
interface Case {
  readonly words: readonly string[];
  readonly own: readonly string[];
}

interface Story {
  readonly title: string;
  readonly settings: readonly string[];
  readonly cases: readonly Case[];
  readonly lines: readonly Line[];
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** The last column, and the last one of what happens beside what is told. */
const widest = 150;
const widestActs = 64;
/** Stands at a line at which each case tells something else. */
const differs = '…';

/** The ms of a word such as `90m`; null for any other word. */
export function msOf(word: string): number | null {
  const [, count, unit = ''] = /^(-?\d+)(ms|s|m|h|d)$/.exec(word) ?? [];
  return count === undefined ? null : Number(count) * (unitMs[unit] ?? 0);
}

/**
 * Makes a test of each story in the file `NAME.story` beside a test file. The form is told in
 * docs/internals/development.md. With `--update`, vitest writes what the stories tell into that file.
 */
export function tellStories<World>(testUrl: string, stage: Stage<World>): void {
  const file = fileURLToPath(testUrl).replace(/\.test\.ts$/, '.story');
  let text = readFileSync(file, 'utf8');
  const [common = '', ...chapters] = text.split(/^# /m);
  for (const chapter of chapters) {
    const [head = '', ...paragraphs] = chapter.trimEnd().split('\n\n');
    const [name = '', ...own] = head.split('\n');
    const settings = [...common.split('\n'), ...own];
    describe(name, () => {
      for (const paragraph of paragraphs) {
        const story = storyIn(paragraph, settings);
        const told: string[][] = [];
        for (const each of story.cases) {
          it([story.title, ...each.words.slice(0, 1)].join(': '), async () => {
            const now = await play(stage, story, each);
            told.push(now);
            if (inject('isUpdating')) {
              if (told.length === story.cases.length)
                text = text.replace(paragraph, () => paragraphOf(story, told, paragraph));
            } else expect(page(story, now)).toBe(page(story, wantedOf(story, each)));
          });
        }
      }
    });
  }
  afterAll(() => {
    if (inject('isUpdating')) writeFileSync(file, text);
  });
}

function storyIn(paragraph: string, common: readonly string[]): Story {
  const [title = '', ...rows] = paragraph.split('\n');
  const lines: Line[] = [];
  for (const row of rows) {
    const [, acts = '', told = ''] = /^(.*?) *(?:\| ?(.*))?$/.exec(row.trimStart()) ?? [];
    const last = lines.at(-1);
    if (acts === '' && last) lines[lines.length - 1] = { ...last, told: `${last.told} ${told}`.trim() };
    else lines.push({ acts, told });
  }
  const cases = lines
    .filter(({ acts }) => acts.startsWith('= '))
    .map(({ acts, told }) => ({ words: acts.slice(2).split(' = '), own: told.split(' // ') }));
  return {
    title,
    settings: [...common, ...lines.map(({ acts }) => acts).filter((acts) => acts.startsWith('@ '))],
    cases: cases.length > 0 ? cases : [{ words: [], own: [] }],
    lines: lines.filter(({ acts }) => !/^[=@] /.test(acts)),
  };
}

const filled = (text: string, { words }: Case) => text.replace(/\$(\d)/g, (_, at) => words[at - 1] ?? '');

function wantedOf({ lines }: Story, each: Case): string[] {
  const own = [...each.own];
  return lines.map(({ told }) => filled(told === differs ? (own.shift() ?? '') : told, each));
}

/** The lines of a story with what they told. */
function page({ lines }: Story, told: readonly string[]): string {
  const width = Math.min(widestActs, Math.max(...lines.map(({ acts }) => acts.length)));
  return lines.map(({ acts }, at) => rowOf(acts, told[at] ?? '', width)).join('\n');
}

/** Acts and what they told, in as many rows as that needs. */
function rowOf(acts: string, told: string, width: number): string {
  const empty = `  ${' '.repeat(acts.length > width ? 4 : width)} |`;
  const rows = acts.length > width ? [`  ${acts}`, empty] : [`  ${acts.padEnd(width)} |`];
  for (const word of told.split(' ')) {
    const row = `${rows.at(-1)} ${word}`;
    if (row.length <= widest) rows[rows.length - 1] = row;
    else rows.push(`${empty} ${word}`);
  }
  return rows
    .map((row) => row.replace(/[ |]+$/, ''))
    .filter(Boolean)
    .join('\n');
}

/** The paragraph of a story with what its cases told. */
function paragraphOf(story: Story, told: readonly (readonly string[])[], paragraph: string): string {
  const rows = paragraph.split('\n').filter((row, at) => at === 0 || row.startsWith('  @ '));
  const { cases, lines } = story;
  const common = lines.map((_, at) => {
    const texts = told.map((each) => each[at] ?? '');
    const [first = ''] = texts;
    const candidates = [first, withoutWords(first, cases[0]?.words ?? [])];
    return (
      candidates.find((text) => cases.every((each, which) => filled(text, each) === texts[which])) ?? differs
    );
  });
  const names = cases.map(({ words }) => `= ${words.join(' = ')}`);
  const width = Math.min(widestActs, Math.max(...names.map(({ length }) => length)));
  names.forEach((name, which) => {
    const own = told[which]?.filter((_, at) => common[at] === differs) ?? [];
    if (name !== '= ') rows.push(rowOf(name, own.join(' // '), width));
  });
  return [...rows, page(story, common)].join('\n');
}

/** A text with `$1` in place of the first word of a case. */
const withoutWords = (text: string, words: readonly string[]) =>
  words.reduce((left, word, at) => left.replaceAll(word, `$${at + 1}`), text);

/** What is told at each line. */
async function play<World>(stage: Stage<World>, story: Story, each: Case): Promise<string[]> {
  const settings = story.settings
    .filter((line) => line.startsWith('@ '))
    .flatMap((line) => line.slice(2).split('; '));
  const world = await stage.open(settings.map((word) => filled(word, each)));
  const watched = new Map<string, string | readonly string[]>();
  const told = (name: string) => stage.fact(name)(world);
  for (const line of story.settings)
    if (line.startsWith('watch ')) for (const name of line.split(' ').slice(1)) watched.set(name, told(name));
  const lines: string[] = [];
  for (const line of story.lines) {
    const said: string[] = [];
    for (const act of filled(line.acts, each).split('; ')) {
      const [verb = '', ...words] = (stage.idsIn?.(world, act) ?? act).split(' ');
      const ms = msOf(verb);
      const run = stage.verbs[verb];
      if (ms !== null) await stage.pass(world, ms);
      else if (verb === 'watch')
        for (const name of words) watched.set(name, typeof told(name) === 'string' ? '' : told(name));
      else if (verb === 'see') said.push(...words.flatMap((name) => seen(told(name))));
      else if (run) said.push(...seen(await run(world, ...words)));
      else if (verb !== '') throw new Error(`no script knows the word ${verb}`);
    }
    for (const [name, before] of watched) {
      const now = told(name);
      watched.set(name, now);
      if (typeof now !== 'string') said.push(...now.slice(before.length));
      else if (now !== before) said.push(now);
    }
    const text = counted(said).join('; ').replaceAll(/\s+/g, ' ').trim();
    lines.push(stage.namesIn?.(world, text) ?? text);
  }
  return lines;
}

/** What a verb returned, or a fact is, in words. */
const seen = (said: unknown) =>
  said === undefined ? [] : Array.isArray(said) ? said.map(String) : [String(said)];

/** Texts of which each that follows itself is told once, with how often. */
function counted(texts: readonly string[]): string[] {
  const counts: [text: string, count: number][] = [];
  for (const text of texts) {
    const last = counts.at(-1);
    if (last?.[0] === text) last[1] += 1;
    else counts.push([text, 1]);
  }
  return counts.map(([text, count]) => (count === 1 ? text : `${text} (${count} times)`));
}
