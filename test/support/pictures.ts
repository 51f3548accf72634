import { setTimeout as pause } from 'node:timers/promises';
import { openTab, waitInTab } from './chromium.ts';

// All the text of a page, that of its shadow roots too.
const pageText = `(() => {
  const read = (node) => [...node.childNodes]
    .map((child) => child.nodeType === 3 ? child.data
      : (child.shadowRoot ? read(child.shadowRoot) : '') + (/^(STYLE|SCRIPT)$/.test(child.nodeName) ? '' : read(child)))
    .join(' ');
  return read(document.body);
})()`;

/** Takes a picture of a page once all these texts are on it, writes it as a PNG file, and gives all its text. */
export async function takePicture(options: {
  url: string;
  texts: readonly string[];
  /** Expressions for what is clicked before, one after the other, each as soon as it is there and can be. */
  presses?: readonly string[];
  file: string;
  width: number;
  height: number;
}): Promise<string> {
  const { url, texts, presses = [], file, width, height } = options;
  const tab = await openTab(url, { width, height });
  for (const press of presses) {
    const pressed = `(() => { const it = ${press}; if (!it || it.disabled) return false; it.click(); return true; })()`;
    await waitInTab(tab, pressed, 60_000);
  }
  let shown = '';
  /** What of the page's text is missing; while the page goes from one address to the next, the reason. */
  const missing = async () => {
    try {
      shown = String((await tab.evaluate(pageText)) ?? '');
      return texts.filter((text) => !shown.includes(text)).join(', ');
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
  await tab.takePicture(file);
  await tab.close();
  return shown;
}
