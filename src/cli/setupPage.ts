import { randomInt } from 'node:crypto';
import { hostname } from 'node:os';
import { z } from 'zod';
import { systemClock } from '../base/clock.ts';
import { deferred } from '../base/deferred.ts';
import { jsonIn } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import { readBody } from '../base/readBody.ts';
import { isLoopback } from '../config/addresses.ts';
import { showLife } from '../health/liveness.ts';
import { fillTemplate, file as pageFile, textsModule } from '../http/files.ts';
import { HttpServer, type Route, sendJson } from '../http/httpServer.ts';
import icon from '../http/page/icon.svg?raw';
import next from '../http/page/next.html?raw';
import { pageTexts } from '../http/texts.ts';
import { type Language, languages } from '../model/language.ts';
import { describeDiskError } from '../state/disk.ts';
import { textsIn } from '../texts/texts.ts';
import { findUsualBroker, type Part, saveAnswers, setElsewhere, testAnswers } from './answers.ts';
import { collectFindings } from './checks.ts';
import { aborted, type CommandContext } from './context.ts';
import style from './setupPage/page.css?raw';
import html from './setupPage/page.html?raw';
import script from './setupPage/page.js?raw';
import startSteps from './setupPage/start.html?raw';

/** After this many wrong codes, the page is closed. The code has a million values, so guessing fails. */
const maxWrongCodes = 5;
const maxBodyBytes = 16_384;

// Keyboards of phones add a space after a proposed word.
const word = z.string().trim();
const isChecked = z.boolean().catch(false);

const sentForm = z.object({
  ...{ code: z.string(), email: word, password: z.string() },
  ...{ broker: word, brokerUsername: word, brokerPassword: z.string() },
  language: z.enum(languages).catch('en'),
  watchOnly: isChecked,
  /** Whether the status page should have the address of the setup page. */
  keepPage: isChecked,
  /** Whether to keep a broker although its check fails. */
  keepBroker: isChecked,
});

interface SetupPage {
  /** With the address, for messages. */
  readonly option: string;
  readonly host: string;
  readonly port: number;
  readonly file: string;
  readonly log: Log;
  readonly invite: (words: string) => void;
  /** Whether the bridge starts then. */
  readonly isStarting: boolean;
}

/** Resolves to true when the file is written, or to false if the signal aborts before. */
export async function serveSetup(context: CommandContext, page: SetupPage): Promise<boolean> {
  const { option, host, port, file, log, isStarting } = page;
  const code = String(randomInt(1_000_000)).padStart(6, '0');
  let wrongCodes = 0;
  let isSaved = false;
  const saved = deferred();
  const usualBroker = findUsualBroker();

  const answer = async (body: Buffer | null): Promise<{ status: number; body: object }> => {
    const sent = readSent(body);
    if (sent === null) return { status: 400, body: { problem: 'form' } };
    if (wrongCodes >= maxWrongCodes) return { status: 403, body: { problem: 'closed' } };
    if (sent.code.replace(/\D/g, '') !== code) {
      wrongCodes += 1;
      const isClosed = wrongCodes >= maxWrongCodes;
      const closed = 'Setup page: five wrong codes. The page is closed. Restart sonic2mqtt for a new code';
      log.warn(isClosed ? closed : 'Setup page: wrong code');
      return { status: 403, body: { problem: isClosed ? 'closed' : 'code' } };
    }
    const answers = { ...sent, listen: sent.keepPage ? listen() : undefined };
    const test = async (part: Part) => {
      const { findings, report } = collectFindings();
      return { findings, result: await testAnswers(part, answers, context, report) };
    };
    const tests = await Promise.all([test('account'), test('broker')]);
    const [account, broker] = tests.map(({ result }) => result);
    const all = tests.flatMap((each) => each.findings);
    const canKeepBroker = account === 'passed' && broker === 'failed';
    const isGood = account === 'passed' && broker === 'passed';
    if (!isSaved && (isGood || (canKeepBroker && sent.keepBroker))) {
      try {
        await saveAnswers(answers, file);
        isSaved = true;
      } catch (error) {
        const words = `cannot be written (${describeDiskError(error)})`;
        all.push({ check: file, outcome: 'FAIL', words, text: 'result_file_fails' });
      }
    }
    // Both tests find what is wrong with the environment.
    const findings = all.filter(
      ({ words }, index) => all.findIndex((each) => each.words === words) === index,
    );
    const hasPage = isStarting && isSaved && sent.keepPage;
    return { status: 200, body: { isSaved, isStarting, hasPage, canKeepBroker, findings } };
  };

  const setupTexts = (language: Language) => ({ language, ...textsIn(language).setup });
  const routes: Route[] = [
    pageFile(
      '/',
      'text/html',
      fillTemplate(htmlFor(context.env, isStarting), (language) => ({
        ...pageTexts(language),
        ...setupTexts(language),
      })),
    ),
    pageFile('/page.css', 'text/css', style),
    pageFile('/page.js', 'text/javascript', script),
    pageFile('/texts.js', 'text/javascript', textsModule(setupTexts)),
    pageFile('/icon.svg', 'image/svg+xml', icon),
    pageFile('/favicon.ico', 'image/svg+xml', icon),
    {
      path: '/broker',
      methods: ['GET'],
      answer: async (response) => {
        // If the page is served only on this computer, it shows nothing to others.
        const keepPage = isLoopback(host);
        sendJson(response, 200, { broker: await usualBroker, keepPage, set: setElsewhere(context.env) });
      },
    },
    {
      path: '/setup',
      methods: ['POST'],
      answer: async (response, _url, request) => {
        const bytes = await readBody(request, maxBodyBytes);
        // Other web sites can send other content types without permission, and could use up the wrong codes.
        const isJson = request.headers['content-type'] === 'application/json';
        const { status, body } = await answer(isJson ? bytes : null);
        const end = () => isSaved && saved.resolve();
        response.once('close', end);
        sendJson(response, status, body);
        // If the browser has left during the tests, `close` came too early for `end`, so it is called here.
        if (response.destroyed) end();
      },
    },
  ];
  const address = { option, host, port, onlyFrom: [] };
  const server = new HttpServer({ ...address, routes, clock: systemClock, random: Math.random, log });
  const listen = () => hostAndPort(host, server.port ?? port);
  const invite = () => {
    const isForAll = host === '0.0.0.0' || host === '::';
    const url = `http://${hostAndPort(isForAll ? 'localhost' : host, server.port ?? port)}`;
    const elsewhere = isForAll ? ' (from another computer, use the address of this one)' : '';
    page.invite(`Open ${url}${elsewhere} and enter the code ${code.slice(0, 3)} ${code.slice(3)}`);
  };
  // The port was in use, and is free now.
  server.on('problem', (words) => words === null && invite());
  await server.start();
  if (server.port !== null) invite();
  // This timer keeps the process running, because the server alone does not.
  const running = setInterval(() => {}, 3_600_000);
  const ending = new AbortController();
  // A container that waits for its setup is healthy.
  showLife(systemClock, log, ending.signal);
  await Promise.race([saved.promise, aborted(context.signal)]);
  ending.abort();
  clearInterval(running);
  await server.stop();
  return isSaved;
}

function hostAndPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Without a terminal, the page names the command that shows the log. What does not start by itself has the steps for it. */
function htmlFor(env: NodeJS.ProcessEnv, isStarting: boolean): string {
  const command = logCommand(env);
  return html
    .replace('{{start_steps}}', isStarting && command !== '' ? '' : startSteps)
    .replace('{{next_steps}}', next)
    .replace('{{code_hint}}', command === '' ? '{{code_in_terminal}}' : '{{code_hint}}')
    .replace('{{command}}', command);
}

/** The command that shows the log. The host name of a container is its ID, unless somebody has changed it. */
function logCommand(env: NodeJS.ProcessEnv): string {
  if (env['HEARTBEAT_FILE'])
    return `docker logs ${/^[0-9a-f]{12}$/.test(hostname()) ? hostname() : 'sonic2mqtt'}`;
  return env['INVOCATION_ID'] ? 'journalctl -u sonic2mqtt' : '';
}

function readSent(body: Buffer | null): z.output<typeof sentForm> | null {
  return sentForm.safeParse(jsonIn(String(body))).data ?? null;
}
