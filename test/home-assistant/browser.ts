import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'undici';
import { z } from 'zod';
import { startProcess } from '../support/childProcess.ts';
import { temporaryFolder } from '../support/program.ts';

const reply = z.object({
  id: z.number().optional(),
  result: z.unknown().optional(),
  error: z.unknown().optional(),
});

// All the text of a page, that of its shadow roots too.
const pageText = `(() => {
  const read = (node) => [...node.childNodes]
    .map((child) => child.nodeType === 3 ? child.data
      : (child.shadowRoot ? read(child.shadowRoot) : '') + (/^(STYLE|SCRIPT)$/.test(child.nodeName) ? '' : read(child)))
    .join(' ');
  return read(document.body);
})()`;

/** Whether there is a browser on this machine to take pictures with. */
export function chromiumAvailable(): boolean {
  return spawnSync('chromium', ['--version']).error === undefined;
}

/** Takes a picture of a page once all these texts are on it, writes it as a PNG file, and gives all its text. */
export async function takePicture(options: {
  url: string;
  texts: readonly string[];
  file: string;
  width: number;
  height: number;
}): Promise<string> {
  const { url, texts, file, width, height } = options;
  const chromium = startProcess('chromium', [
    ...['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars'],
    ...[`--user-data-dir=${temporaryFolder()}`, `--window-size=${width},${height}`],
    ...['--remote-debugging-port=0', 'about:blank'],
  ]);
  const [, debuggerUrl = ''] = await chromium.waitForOutput(/DevTools listening on (\S+)/, 30_000);
  const socket = new WebSocket(debuggerUrl);
  await once(socket, 'open');
  let lastId = 0;
  let sessionId: string | undefined;
  /** One command of the DevTools protocol. */
  const command = (method: string, params: object = {}): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = ++lastId;
      const listener = ({ data }: { data: unknown }) => {
        const { id: answered, result, error } = reply.parse(JSON.parse(String(data)));
        if (answered !== id) return;
        socket.removeEventListener('message', listener);
        if (error === undefined) resolve(result);
        else reject(new Error(`${method}: ${JSON.stringify(error)}`));
      };
      socket.addEventListener('message', listener);
      socket.send(JSON.stringify({ id, method, params, sessionId }));
    });

  const { targetId } = z
    .object({ targetId: z.string() })
    .parse(await command('Target.createTarget', { url }));
  const attached = await command('Target.attachToTarget', { targetId, flatten: true });
  sessionId = z.object({ sessionId: z.string() }).parse(attached).sessionId;
  await command('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
  const evaluated = z.object({ result: z.object({ value: z.string().optional() }) });
  let shown = '';
  /** What of the page's text is missing; while the page goes from one address to the next, the reason. */
  const missing = async () => {
    try {
      const answer = evaluated.parse(await command('Runtime.evaluate', { expression: pageText }));
      const { value = '' } = answer.result;
      shown = value;
      return texts.filter((text) => !value.includes(text)).join(', ');
    } catch (error) {
      return String(error);
    }
  };
  let left = await missing();
  const deadline = performance.now() + 60_000;
  while (left !== '' && performance.now() < deadline) {
    await pause(250);
    left = await missing();
  }
  if (left !== '') throw new Error(`waited a minute in vain for what is missing on ${url}: ${left}`);
  // Icons come after the texts that they stand beside.
  await pause(2_000);
  await missing();
  const { data } = z.object({ data: z.string() }).parse(await command('Page.captureScreenshot'));
  writeFileSync(file, Buffer.from(data, 'base64'));
  socket.close();
  await chromium.stop();
  return shown;
}
