import { setTimeout as pause } from 'node:timers/promises';
import { openTab, type TabOptions, waitInTab } from './chromium.ts';

// All the text of a page, including shadow roots.
const pageText = `(() => {
  const read = (node) => [...node.childNodes]
    .map((child) => child.nodeType === 3 ? child.data
      : (child.shadowRoot ? read(child.shadowRoot) : '') + (/^(STYLE|SCRIPT)$/.test(child.nodeName) ? '' : read(child)))
    .join(' ');
  return read(document.body);
})()`;

export interface PictureOptions extends TabOptions {
  readonly url: string;
  readonly texts: readonly string[];
  /** Expressions for elements to click first, one after the other, each as soon as it is enabled. */
  readonly presses?: readonly string[];
  readonly file: string;
  /** How many pixels at the left and the top the picture leaves out. */
  readonly without?: readonly [left: number, top: number];
}

/** Writes a screenshot of a page as a PNG or a WebP file, once all these texts are on it. Returns the text of the page. */
export async function takePicture(options: PictureOptions): Promise<string> {
  const { url, texts, presses = [], file, without } = options;
  const tab = await openTab(url, options);
  for (const press of presses) {
    const pressed = `(() => { const it = ${press}; if (!it || it.disabled) return false; it.click(); return true; })()`;
    await waitInTab(tab, pressed, 60_000);
  }
  let shown = '';
  /** The texts that are still missing, or the error while the page navigates. */
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
  // Icons appear later than their texts.
  await pause(2_000);
  await missing();
  await tab.takePicture(file, false, without);
  await tab.close();
  return shown;
}

/** An expression for the first element of this name in a page of Home Assistant, whose elements have trees of their own. */
export function inPage(name: string): string {
  return `(function find(root) { return [...root.querySelectorAll('*')].flatMap((each) => [each, ...(each.shadowRoot ? find(each.shadowRoot) : [])]); })(document).find((each) => each.localName === '${name}')`;
}
