// Records the status page of `sonic2mqtt demo` into site/pages/public/demo: the page as the program serves it, and the
// answers of status.json while the story of the demo is told: all is well, a tap runs, the kitchen leaks, its valve is
// closed, and all is well again. On the site, replay.js answers the page with them.
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

/** A document of status.json, and when it came. */
interface Recorded {
  readonly afterMs: number;
  readonly text: string;
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
  writeFileSync(join(folder, 'recording.json'), JSON.stringify(await recordStory()));
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

async function recordStory(): Promise<Recorded[]> {
  const story: Recorded[] = [];
  const startedAt = Date.now();
  let tag = '';
  while (Date.now() - startedAt < recordMs) {
    const answer = await fetch(`${address}status.json`, { headers: { 'if-none-match': tag } });
    if (answer.status === 200) story.push({ afterMs: Date.now() - startedAt, text: await answer.text() });
    tag = answer.headers.get('etag') ?? '';
    await sleep(1_000);
  }
  const tones = story.map(({ text }) => JSON.parse(text).status.headline.tone);
  const isStory = tones[0] === 'good' && tones.includes('alarm') && tones.at(-1) === 'good';
  if (!isStory) throw new Error(`The recording does not end as it should: ${tones.join(', ')}`);
  return story;
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
