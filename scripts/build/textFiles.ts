import { readFileSync } from 'node:fs';
import type { Plugin } from 'rolldown';

const ending = '?raw';

/** `import text from './page.css?raw'` gives the text of the file, as it does in the tests. */
export const textFiles: Plugin = {
  name: 'text-files',
  load: (id) =>
    id.endsWith(ending)
      ? {
          code: `export default ${JSON.stringify(readFileSync(id.slice(0, -ending.length), 'utf8'))};`,
          moduleType: 'js',
        }
      : null,
};
