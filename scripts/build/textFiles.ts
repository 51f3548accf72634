import { readFileSync } from 'node:fs';
import type { Plugin } from 'rolldown';

const text = '?raw';
const picture = '?inline';

/** `import text from './page.css?raw'` gives the text of a file, and `'./icon.png?inline'` a data URL, as in the tests. */
export const textFiles: Plugin = {
  name: 'text-files',
  load: (id) => {
    if (id.endsWith(text)) return asModule(readFileSync(id.slice(0, -text.length), 'utf8'));
    if (!id.endsWith(picture)) return null;
    return asModule(`data:image/png;base64,${readFileSync(id.slice(0, -picture.length), 'base64')}`);
  },
};

function asModule(value: string) {
  return { code: `export default ${JSON.stringify(value)};`, moduleType: 'js' as const };
}
