import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { exampleHome } from '../../scripts/docs/exampleHome.ts';
import { commandTopics, retainedTopics } from '../../scripts/docs/topics.ts';
import { exitStatus } from '../../src/cli/context.ts';
import { configSchema } from '../../src/config/schema.ts';
import { plainCommands } from '../../src/entities/commands.ts';
import { entityTable } from '../../src/entities/tables.ts';
import { commandFilters } from '../../src/homeassistant/command.ts';
import { Topics } from '../../src/homeassistant/topics.ts';
import { type Language, languages } from '../../src/model/language.ts';
import { textsIn } from '../../src/texts/texts.ts';
import { hourly, startBridge, type TestBridge } from '../support/bridge.ts';
import { runProgram } from '../support/callProgram.ts';
import { escapedBy, hostileName } from '../support/markdown.ts';
import { startProgram } from '../support/program.ts';
import { tourWords } from '../support/tourWords.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string) => readFileSync(join(project, file), 'utf8');
const readme = read('README.md');
const pages = [
  ...['README.md', 'CHANGELOG.md', 'SECURITY.md', 'CONTRIBUTING.md', 'CODE_OF_CONDUCT.md'],
  ...readdirSync(join(project, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`),
]
  .filter((file) => file.endsWith('.md'))
  .map((file) => ({ file, text: read(file) }));

/** The first cell of each row of the tables in a text. */
function firstCells(text: string): string[] {
  const rows = text.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| ---'));
  return rows.map((row) => row.split(' | ')[0]?.slice(2) ?? '');
}

/** The blocks of code in a language. */
function blocks(text: string, language: string): string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'gm'))].map(
    ([, block = '']) => block,
  );
}

const blueprints = readdirSync(join(project, 'blueprints'));
const parsedBlueprint = (file: string): unknown =>
  parse(read(`blueprints/${file}`), { customTags: [{ tag: '!input', resolve: (name: string) => name }] });
const languageTable = z.object({
  blueprint: z.object({
    input: z.object({
      language: z.object({
        default: z.literal('en'),
        selector: z.object({ select: z.object({ options: z.array(z.object({ value: z.string() })) }) }),
      }),
    }),
  }),
  variables: z.object({ texts: z.record(z.string(), z.record(z.string(), z.string().min(1))) }),
});

/** What GitHub makes of a heading, to link to it; and Home Assistant of names. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
const objectIdOf = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_');

/** Expects that a file of the project is there, and has the heading that an anchor names. */
function expectThere(target: string, anchor: string | undefined, from: string): void {
  expect(existsSync(join(project, target)), `${from} to ${target}`).toBe(true);
  if (anchor === undefined) return;
  const headings = [...read(target).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));
  expect(headings, `${from} to ${target}`).toContain(anchor);
}

describe('the references', () => {
  it('name every command topic that is subscribed to', () => {
    const topics = new Topics('sonic2mqtt', 'homeassistant');
    const documented = commandTopics().map(({ topic }) => `sonic2mqtt/${topic.replaceAll(/\{\w+\}/g, '+')}`);
    expect(documented.toSorted()).toEqual(commandFilters(topics).toSorted());
    expect(commandTopics().filter(({ words }) => words === '')).toEqual([]);
  });

  it('let Home Assistant publish every command in the access list', () => {
    const topics = new Topics('sonic2mqtt', 'homeassistant');
    const patterns = [...read('docs/security.md').matchAll(/^topic write (.+)$/gm)].map(
      ([, filter = '']) => new RegExp(`^${filter.replaceAll('+', '[^/]+')}$`),
    );
    const isCovered = (filter: string) => patterns.some((pattern) => pattern.test(filter));
    // Whoever sets several fields at once is another program.
    const severalFields = plainCommands.property.flatMap((command) =>
      'hasFieldTopics' in command ? `sonic2mqtt/property/+/${command.path}` : [],
    );
    const wanted = commandFilters(topics).filter((filter) => !severalFields.includes(filter));
    expect(wanted.filter((filter) => !isCovered(filter))).toEqual([]);
  });

  it('show a configuration that can be used', () => {
    const [least = ''] = blocks(read('docs/reference/options.md'), 'yaml');
    expect(configSchema.safeParse(parse(least)).error).toBeUndefined();
  });
});

describe('the documents', () => {
  it('have every command and exit status', async () => {
    const cells = firstCells(read('docs/reference/commands.md'));
    const named = cells.flatMap((cell) => [...cell.matchAll(/`sonic2mqtt (\w+)/g)].map(([, name]) => name));
    const { stdout } = await runProgram(['--help']);
    const [, commands = ''] = stdout.split('Commands:\n');
    expect(named).toEqual([...commands.matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name));
    expect(cells.filter((cell) => /^\d$/.test(cell)).map(Number)).toEqual(Object.values(exitStatus));
  });

  it('link only to pages, headings and pictures that are there', () => {
    const link = /(?:\]\(|src=")(?!https?:)([^)"#\s]*)(?:#([^)\s]*))?[)"]/g;
    for (const { file, text } of pages) {
      for (const [, path = '', anchor] of text.matchAll(link)) {
        expectThere(path === '' ? file : join(dirname(file), path), anchor, file);
      }
    }
  });

  it('are where Home Assistant, the site and the forms for issues link to them', () => {
    const elsewhere = ['home-assistant-app', '.github', '.github/ISSUE_TEMPLATE'].flatMap((folder) =>
      readdirSync(join(project, folder))
        .filter((name) => /\.(md|yml)$/.test(name))
        .map((name) => ({ file: `${folder}/${name}`, text: read(`${folder}/${name}`) })),
    );
    const link = /https:\/\/github\.com\/sonic2mqtt\/sonic2mqtt\/blob\/main\/([^)#\s]+)(?:#([^)\s]+))?/g;
    const links = [...elsewhere, ...pages].flatMap(({ file, text }) =>
      [...text.matchAll(link)].map(([, path = '', anchor]) => ({ file, path, anchor })),
    );
    expect(links.length).toBeGreaterThan(1);
    for (const { file, path, anchor } of links) expectThere(path, anchor, file);
  });

  it('are all in the list of the site, whose build would fail otherwise', () => {
    const [, listed = ''] = /const tasks = \{(.*?)\};/s.exec(read('site/.vitepress/config.ts')) ?? [];
    const named = [...listed.matchAll(/'(docs\/[\w-]+)'/g)].map(([, page]) => `${page}.md`);
    expect(named.toSorted()).toEqual(
      pages
        .map(({ file }) => file)
        .filter((file) => /^docs\/[^/]+$/.test(file))
        .toSorted(),
    );
  });

  it('lead to tests that are there, as the scripts of package.json do', () => {
    const scripts: Record<string, string> = JSON.parse(read('package.json')).scripts;
    const named = Object.values(scripts).flatMap((script) => script.match(/(?<=\s)test\/\S+/g) ?? []);
    const tests = readdirSync(join(project, 'test'), { recursive: true, encoding: 'utf8' });
    expect(named.length).toBeGreaterThan(5);
    for (const part of named)
      expect(
        tests.some((file) => `test/${file}`.startsWith(part)),
        part,
      ).toBe(true);
  });

  it('name scripts that exist', () => {
    const scripts: Record<string, string> = JSON.parse(read('package.json')).scripts;
    const named = pages.flatMap(({ text }) => [...text.matchAll(/npm run ([\w:-]+)|`(test:[\w]+)`/g)]);
    expect(named.length).toBeGreaterThan(5);
    for (const [words, script, part] of named) expect(Object.keys(scripts), words).toContain(script ?? part);
  });
});

describe('the README', () => {
  it('begins with two lines that work on a fresh checkout', () => {
    expect(blocks(readme, 'sh')).toEqual(
      expect.arrayContaining(['npm ci && npm run demo\n', 'npm ci && npm test\n']),
    );
  });

  it('is short, and leads to every page', () => {
    expect(readme.split(/\s+/).length).toBeLessThanOrEqual(700);
    const reached = new Set(['README.md']);
    for (const file of reached) {
      const { text = '' } = pages.find((page) => page.file === file) ?? {};
      for (const [, target = ''] of text.matchAll(/\]\((?!https?:)([^)#\s]+)/g))
        reached.add(join(dirname(file), target));
    }
    expect(pages.map(({ file }) => file).filter((file) => !reached.has(file))).toEqual([]);
  });
});

describe('the pages on Home Assistant', () => {
  it('name entities that Home Assistant makes of the names in the demo', () => {
    const examples = ['home-assistant', 'automations'].flatMap((name) =>
      blocks(read(`docs/${name}.md`), 'yaml'),
    );
    const { sonic, property } = exampleHome();
    const devices = [
      { kind: 'sonic', name: sonic.sonic.name },
      { kind: 'property', name: property.property.name },
      { kind: 'bridge', name: 'sonic2mqtt' },
    ] as const;
    const made = devices.flatMap(({ kind, name }) =>
      entityTable(kind).map(
        (row) => `${row.component}.${objectIdOf([name, row.name].filter(Boolean).join(' '))}`,
      ),
    );
    const named = examples.flatMap((block) => [
      ...block.matchAll(/\b(?:valve|sensor|binary_sensor|event|select|button)\.[a-z0-9_]+/g),
    ]);
    const actions = [
      'valve.close_valve',
      'valve.open_valve',
      'button.press',
      'valve.closed',
      'event.received',
    ];
    expect(named.length).toBeGreaterThan(15);
    for (const [entity] of named) if (!actions.includes(entity)) expect(made).toContain(entity);
    for (const block of examples) expect(parse(block)).toBeTypeOf('object');
  });
});

describe('the automations', () => {
  const messages = pages
    .flatMap(({ file, text }) => blocks(text, 'yaml').map((yaml) => ({ file, example: parse(yaml) })))
    .flatMap(({ file, example }) => (example?.actions ?? []).map((action: object) => ({ file, ...action })))
    .filter(({ action }) => action === 'persistent_notification.create')
    .filter(({ data }) => /state_attr\(|payload_json/.test(data.message));

  it.each(messages)('show texts of others as text ($data.title)', ({ data }) => {
    expect(data.message.trim()).toMatch(/^{{[^{}]*\| regex_replace\('[^']*', '[^']*'\) }}$/);
    expect(escapedBy(data.message, hostileName.text)).toBe(hostileName.escaped);
  });

  it('are looked at', () => expect(messages.length).toBeGreaterThan(1));
});

describe('the blueprints', () => {
  it.each(blueprints)('%s is imported from where it is', (file) => {
    const address = `https://github.com/sonic2mqtt/sonic2mqtt/blob/main/blueprints/${file}`;
    expect(read(`blueprints/${file}`)).toContain(`source_url: ${address}\n`);
    expect(read('docs/blueprints.md')).toContain(
      `https://my.home-assistant.io/redirect/blueprint_import/?blueprint_url=${encodeURIComponent(address)})`,
    );
  });

  it.each(blueprints)('%s shows texts of others as text', (file) => {
    const [, ...notifications] = read(`blueprints/${file}`).split('persistent_notification.create\n');
    expect(notifications).toHaveLength(1);
    const [, template = ''] = /message: >-\n\s+(.*)\n/.exec(notifications[0] ?? '') ?? [];
    expect(template).toMatch(/^{{ message \| string \| regex_replace\(.*\) }}$/);
    expect(escapedBy(template, hostileName.text)).toBe(hostileName.escaped);
  });

  /** The texts of the program by the English one, without the full stop at the end. */
  const bare = (text: unknown) => `${text}`.replace(/\.$/, '');
  const known = new Map(
    Object.entries(textsIn('en')).flatMap(([section, texts]) =>
      Object.entries(texts).map(([key, english]) => [
        bare(english),
        languages.map((each) => bare(Reflect.get(Reflect.get(textsIn(each), section), key))),
      ]),
    ),
  );

  it.each(blueprints)('%s has each sentence in each language', (file) => {
    const { blueprint, variables } = languageTable.parse(parsedBlueprint(file));
    expect(blueprint.input.language.selector.select.options.map(({ value }) => value)).toEqual(languages);
    expect(Object.keys(variables.texts)).toEqual(languages);
    const gaps = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort();
    for (const [key, english] of Object.entries(variables.texts['en'] ?? {})) {
      const sentences = languages.map((language) => variables.texts[language]?.[key] ?? '');
      for (const each of sentences) expect(gaps(each), each).toEqual(gaps(english));
      expect(sentences.map(bare)).toEqual(known.get(bare(english)) ?? sentences.map(bare));
    }
    for (const table of Object.values(variables.texts)) {
      expect(Object.keys(table)).toEqual(Object.keys(variables.texts['en'] ?? {}));
    }
  });
});

describe('the words of the program', () => {
  /** Its texts and those of the blueprints. */
  const known = (language: Language) =>
    JSON.stringify([
      textsIn(language),
      ...blueprints.map((file) => languageTable.parse(parsedBlueprint(file)).variables.texts[language]),
    ]).toLowerCase();

  it.each([
    ['de', 'Deutsch'],
    ['fr', 'Français'],
    ['nl', 'Nederlands'],
    ['pl', 'Polski'],
  ] as const)('are on the page on a leak, in %s', (language, heading) => {
    const [, section = ''] = read('docs/leak-languages.md').split(`## ${heading}\n`);
    const words = [...(section.split('\n## ')[0] ?? '').matchAll(/(\*+)(.+?)\1/g)].map(
      ([, , each = '']) => each,
    );
    expect(words).toHaveLength(10);
    for (const each of words) expect(known(language), each).toContain(each.toLowerCase());
  });

  it.each(Object.entries(tourWords))('are in the picture of the tour: %s', (_, words) => {
    for (const each of words) {
      const text = each.replace(/Kitchen|Bathroom|Hallway hub/, '{place}');
      expect(known('en'), each).toContain(text.toLowerCase());
    }
  });
});

describe('a running bridge', () => {
  let bridge: TestBridge;
  beforeAll(async () => {
    bridge = await startBridge();
    await bridge.mqtt.waitForTopic('sonic2mqtt/bridge/info', (text) => JSON.parse(text).counts.sonics === 4);
    const [incident = ''] = bridge.cloud.world.incidents.ids;
    await bridge.mqtt.waitForTopic(`sonic2mqtt/incident/${incident}`);
    // Devices are shown once they are listed, and what is read of each by itself follows.
    for (const topic of ['telemetry', 'usage', 'pressure_tests']) {
      await bridge.mqtt.waitForTopic(`sonic2mqtt/sonic/${exampleHome().sonic.sonic.id}/${topic}`);
    }
  });

  afterAll(() => bridge.close());

  it('retains the topics of the reference and no others, with the keys of the examples', async () => {
    const { sonic, signal, property } = exampleHome();
    const [incident = ''] = bridge.cloud.world.incidents.ids;
    const ids: Record<string, string> = {
      sonic: sonic.sonic.id,
      signal: signal.signal.id,
      property: property.property.id,
      incident,
    };
    const published = [...bridge.mqtt.last.keys()]
      .filter(
        (topic) => topic.startsWith('sonic2mqtt/') && !/\/(homeassistant|event|incident|set)$/.test(topic),
      )
      .map((topic) => topic.slice('sonic2mqtt/'.length).replace(/(?<=^\w+\/)[\da-f-]{36}/, '{id}'));
    expect([...new Set(published)].toSorted()).toEqual(
      retainedTopics()
        .map(({ topic }) => topic)
        .toSorted(),
    );
    for (const { topic, example } of retainedTopics()) {
      if (typeof example !== 'object' || example === null) continue;
      const real = bridge.json(topic.replace('{id}', ids[topic.split('/')[0] ?? ''] ?? ''));
      expect(Object.keys(real).toSorted(), topic).toEqual(Object.keys(example).toSorted());
    }
  });

  it('is checked in the steps that the page on commands shows', async () => {
    // A slow machine does not keep the short schedules of tests, and `check` says so.
    const check = startProgram(['check'], { config: { ...bridge.config, schedules: hourly } });
    await check.ended();
    const steps = (text: string) =>
      text
        .trimEnd()
        .split('\n')
        .map((line) => line.replace(/(\w): .*/, '$1'));
    const [shown = ''] = blocks(read('docs/reference/commands.md'), 'text');
    // The simulated cloud has no name and no TLS.
    const local = shown.replace(/.*cloud: (DNS|TLS).*\n/g, '');
    expect(steps(check.stdout)).toEqual(steps(local));
  });
});
