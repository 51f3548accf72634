// Records the status page of `sonic2mqtt demo` into site/pages/public/demo: the page as the program serves it, one answer of
// status.json, and what /events sends while the story of the demo is told: all is well, a tap runs, the kitchen leaks, its
// valve is closed, and all is well again. On the site, replay.js sends the recorded events to the page.
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connectAsync } from 'mqtt';
import { type Language, languages } from '../src/model/language.ts';

const folder = fileURLToPath(new URL('pages/public/demo', import.meta.url));
const program = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const recordMs = 65_000;

/** The leak is read before its valve is closed. */
const leakShownMs = 10_000;

/** What the page says instead of "Live". */
const recording: Readonly<Record<Language, string>> = {
  en: 'Recording',
  de: 'Aufzeichnung',
  fr: 'Enregistrement',
  nl: 'Opname',
  pl: 'Nagranie',
};

interface RecordedEvent {
  readonly afterMs: number;
  readonly type: string;
  readonly data: string;
}

/** A file beside the page: as HTML, a script, a style sheet and a manifest name it. */
const named =
  /<(?:link|script|img)\b[^>]* (?:href|src)="([\w./-]+)"|\bimport\b[^;]*?'(\.\/[\w.-]+)'|\burl\(['"]?([\w./-]+)|"src": *"([\w./-]+)"/g;

const [port, httpPort] = [await freePort(), await freePort()];
const address = `http://127.0.0.1:${httpPort}/`;
const demo = spawn(
  process.execPath,
  [program, '--log-level', 'warn', 'demo', '--port', `${port}`, '--http-port', `${httpPort}`],
  {
    stdio: ['ignore', 'ignore', 'inherit'],
  },
);
try {
  await untilReady();
  mkdirSync(folder, { recursive: true });
  await saveAll(['index.html', 'status.json']);
  await saveTexts();
  await closeAtLeak();
  writeFileSync(join(folder, 'events.json'), JSON.stringify(await recordEvents()));
  cpSync(new URL('replay.js', import.meta.url), join(folder, 'replay.js'));
} finally {
  demo.kill();
}

/** Saves files as the program serves them, and the files that these name. */
async function saveAll(names: readonly string[]): Promise<void> {
  const wanted = new Set(names);
  for (const name of wanted) {
    const answer = await fetch(`${address}${name.replace('index.html', '')}`);
    if (!answer.ok) throw new Error(`The demo answers ${answer.status} for /${name}`);
    const bytes = Buffer.from(await answer.arrayBuffer());
    const text = /\.(html|css|js|webmanifest)$/.test(name) ? bytes.toString() : '';
    for (const [, html, script, style, manifest] of text.matchAll(named)) {
      wanted.add((html ?? script ?? style ?? manifest ?? '').replace(/^\.\//, ''));
    }
    // The icon in the tab has the tone of the headline.
    for (const [, tone] of text.matchAll(/\bdata-tone="(\w+)"\] \{/g)) wanted.add(`icon-${tone}.svg`);
    writeFileSync(join(folder, name), name === 'index.html' ? onSite(text) : bytes);
  }
}

/** The texts in all languages: the program chooses by what the browser accepts, the page on the site by itself. */
async function saveTexts(): Promise<void> {
  for (const language of languages) {
    const answer = await fetch(`${address}texts.js`, { headers: { 'accept-language': language } });
    const texts = (await answer.text()).replace(/"live":"[^"]*"/, `"live":"${recording[language]}"`);
    writeFileSync(join(folder, `texts-${language}.js`), texts);
  }
  const choice = `const languages = ${JSON.stringify(languages)};
const wanted = navigator.languages.map((each) => each.split('-')[0]);
const language = wanted.find((each) => languages.includes(each)) ?? 'en';
document.documentElement.lang = language;
export const { texts } = await import(\`./texts-\${language}.js\`);
`;
  writeFileSync(join(folder, 'texts.js'), choice);
}

/** The page with its recording, a way back, and a sign that this is no real home. */
function onSite(page: string): string {
  const sign = 'This is a recording of <code>sonic2mqtt demo</code>. <a href="../">Documentation</a>';
  return page
    .replace('<head>', '<head>\n    <script src="replay.js"></script>')
    .replace(
      '<body>',
      `<body>\n    <p style="margin: 0; padding: 0.5rem 1rem; text-align: center">${sign}</p>`,
    );
}

/** Closes the valve of the leak, once somebody has had the time to read of it. */
async function closeAtLeak(): Promise<void> {
  const mqtt = await connectAsync(`mqtt://127.0.0.1:${port}`);
  mqtt.on('message', (topic, payload) => {
    if (JSON.parse(String(payload)).open.water_presence_detected === null) return;
    setTimeout(() => mqtt.publish(topic.replace('incidents', 'valve/set'), 'CLOSE').end(), leakShownMs);
  });
  await mqtt.subscribeAsync('sonic2mqtt/sonic/+/incidents');
}

async function recordEvents(): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  const startedAt = Date.now();
  const answer = await fetch(`${address}events`, { signal: AbortSignal.timeout(recordMs) });
  let text = '';
  try {
    for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const [rest = '', ...complete] = `${text}${chunk}`.split('\n\n').toReversed();
      text = rest;
      for (const block of complete.toReversed()) {
        const [, type] = /^event: (.*)$/m.exec(block) ?? [];
        const [, data] = /^data: (.*)$/m.exec(block) ?? [];
        if (type && data) events.push({ afterMs: Date.now() - startedAt, type, data });
      }
    }
  } catch (error) {
    if (!(error instanceof Error && error.name === 'TimeoutError')) throw error;
  }
  const tones = events.flatMap(({ data }) => JSON.parse(data).status?.headline.tone ?? []);
  const isStory = tones[0] === 'good' && tones.includes('alarm') && tones.at(-1) === 'good';
  if (!isStory) throw new Error(`The recording does not end as it should: ${tones.join(', ')}`);
  return events;
}

async function untilReady(): Promise<void> {
  for (let tries = 0; tries < 120; tries++) {
    if (demo.exitCode !== null) throw new Error('The demo has ended. Is the program built (npm run build)?');
    const answer = await fetch(`${address}readyz`).catch(() => null);
    // The first readings of each valve follow within seconds.
    if (answer?.ok) return sleep(5_000);
    await sleep(500);
  }
  throw new Error('The demo was not ready within a minute');
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const own = server.address();
      server.close(() => resolve(typeof own === 'object' && own ? own.port : 0));
    });
  });
}
