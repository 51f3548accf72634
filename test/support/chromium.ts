import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'undici';
import { z } from 'zod';
import { startProcess } from './childProcess.ts';
import { temporaryFolder } from './program.ts';

const message = z.object({
  id: z.number().optional(),
  result: z.unknown().optional(),
  error: z.unknown().optional(),
  method: z.string().optional(),
  params: z.unknown().optional(),
});

const evaluation = z.object({
  result: z.object({ value: z.unknown().optional() }),
  exceptionDetails: z.unknown().optional(),
});

/** Whether Chromium is installed on this machine. */
export function chromiumAvailable(): boolean {
  return spawnSync('chromium', ['--version']).error === undefined;
}

/** How a page is displayed. */
export interface TabOptions {
  readonly width: number;
  readonly height: number;
  readonly scheme?: 'light' | 'dark';
  readonly isPhone?: boolean;
  /** The time zone of the browser. By default that of the machine. */
  readonly timezone?: string;
  readonly isScriptOff?: boolean;
  /** The language of the browser. British English by default, whatever the machine uses. */
  readonly language?: string;
}

export interface Tab {
  /** The addresses that the page has requested. */
  readonly requests: readonly string[];
  /** Warnings and errors of the console, and uncaught errors. */
  readonly complaints: readonly string[];
  /** Evaluates an expression in the page. */
  evaluate(expression: string): Promise<unknown>;
  /** Writes a screenshot as a PNG or a WebP file: of the visible part, or of the whole page, without so many pixels at the left and the top. */
  takePicture(file: string, isWhole?: boolean, without?: readonly [left: number, top: number]): Promise<void>;
  /** Sends one command of the DevTools protocol. */
  command(method: string, params?: object): Promise<unknown>;
}

/** Starts Chromium and opens a page. The browser ends with the test, or when `close` is called. */
export async function openTab(url: string, look: TabOptions): Promise<Tab & { close(): Promise<void> }> {
  const { width, height, scheme = 'light', isPhone = false, timezone, isScriptOff = false } = look;
  const { language = 'en-GB' } = look;
  const chromium = startProcess('chromium', [
    ...['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars'],
    ...[`--user-data-dir=${temporaryFolder()}`, `--window-size=${width},${height}`],
    `--accept-lang=${language}`,
    ...['--remote-debugging-port=0', 'about:blank'],
  ]);
  const [, debuggerUrl = ''] = await chromium.waitForOutput(/DevTools listening on (\S+)/);
  const socket = new WebSocket(debuggerUrl);
  await once(socket, 'open');
  const requests: string[] = [];
  const complaints: string[] = [];
  const answers = new Map<number, (answer: z.infer<typeof message>) => void>();
  socket.addEventListener('message', ({ data }) => {
    const received = message.parse(JSON.parse(String(data)));
    if (received.id !== undefined) answers.get(received.id)?.(received);
    else note(received, requests, complaints);
  });
  let lastId = 0;
  let sessionId: string | undefined;
  const command = (method: string, params: object = {}): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = ++lastId;
      answers.set(id, ({ result, error }) => {
        answers.delete(id);
        if (error === undefined) resolve(result);
        else reject(new Error(`${method}: ${JSON.stringify(error)}`));
      });
      socket.send(JSON.stringify({ id, method, params, sessionId }));
    });
  const created = await command('Target.createTarget', { url: 'about:blank' });
  const { targetId } = z.object({ targetId: z.string() }).parse(created);
  const attached = await command('Target.attachToTarget', { targetId, flatten: true });
  sessionId = z.object({ sessionId: z.string() }).parse(attached).sessionId;
  for (const domain of ['Page', 'Network', 'Runtime', 'Log']) await command(`${domain}.enable`);
  await command('Emulation.setDeviceMetricsOverride', {
    ...{ width, height, deviceScaleFactor: 1, mobile: isPhone },
  });
  await command('Emulation.setEmulatedMedia', {
    features: [{ name: 'prefers-color-scheme', value: scheme }],
  });
  await command('Emulation.setLocaleOverride', { locale: language });
  if (timezone !== undefined) await command('Emulation.setTimezoneOverride', { timezoneId: timezone });
  if (isScriptOff) await command('Emulation.setScriptExecutionDisabled', { value: true });
  await command('Page.navigate', { url });
  return {
    requests,
    complaints,
    command,
    evaluate: async (expression) => {
      const answer = await command('Runtime.evaluate', {
        ...{ expression, returnByValue: true, awaitPromise: true },
      });
      const { result, exceptionDetails } = evaluation.parse(answer);
      if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails));
      return result.value;
    },
    takePicture: async (file, isWhole = false, [x, y] = [0, 0]) => {
      const picture = await command('Page.captureScreenshot', {
        captureBeyondViewport: isWhole,
        ...(x + y > 0 && { clip: { x, y, width: width - x, height: height - y, scale: 1 } }),
        ...(file.endsWith('.webp') && { format: 'webp', quality: 80 }),
      });
      const { data } = z.object({ data: z.string() }).parse(picture);
      writeFileSync(file, Buffer.from(data, 'base64'));
    },
    close: async () => {
      socket.close();
      await chromium.stop();
    },
  };
}

/** Waits until an expression is true in the page. Throws with the text of the page when time is up. */
export async function waitInTab(tab: Tab, expression: string, timeoutMs = 15_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    // Nothing can be evaluated while the page navigates.
    const isSo = await tab.evaluate(`Boolean(${expression})`).catch(() => false);
    if (isSo === true) return;
    if (performance.now() > deadline) break;
    await pause(100);
  }
  const text = await tab.evaluate('document.body.innerText');
  throw new Error(`waited in vain for ${expression}; the page says: ${text}; ${tab.complaints.join('; ')}`);
}

function note({ method, params }: z.infer<typeof message>, requests: string[], complaints: string[]): void {
  const text = JSON.stringify(params);
  if (method === 'Network.requestWillBeSent') {
    requests.push(z.object({ request: z.object({ url: z.string() }) }).parse(params).request.url);
  } else if (method === 'Runtime.exceptionThrown') complaints.push(text);
  else if (method === 'Log.entryAdded' && /"level":"(error|warning)"/.test(text)) complaints.push(text);
  else if (method === 'Runtime.consoleAPICalled' && /"type":"(error|warning|assert)"/.test(text)) {
    complaints.push(text);
  }
}
