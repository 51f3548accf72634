// Node 20 cannot run TypeScript; with this it runs the scripts:  node --import ./scripts/typescript.mjs FILE
import { readFileSync } from 'node:fs';
import * as modules from 'node:module';
import { isMainThread } from 'node:worker_threads';

const require = modules.createRequire(import.meta.url);

/** A module hook: TypeScript files are loaded without their types, which `tsc` checks. */
export function load(url, context, nextLoad) {
  // Node 20 warns of each JSON file that is imported as such.
  if (!modules.registerHooks && url.endsWith('.json')) {
    const source = `export default ${readFileSync(new URL(url), 'utf8')}`;
    return { format: 'module', source, shortCircuit: true };
  }
  if (!url.endsWith('.ts')) return nextLoad(url, context);
  const ts = require('typescript');
  const { outputText } = ts.transpileModule(readFileSync(new URL(url), 'utf8'), {
    compilerOptions: {
      module: ts.ModuleKind.ESNext,
      target: ts.ScriptTarget.ES2023,
      verbatimModuleSyntax: true,
    },
  });
  return { format: 'module', source: outputText, shortCircuit: true };
}

if (modules.registerHooks) modules.registerHooks({ load });
// Node 20 calls the hook on a thread of its own, which loads this file once more.
else if (isMainThread) modules.register(import.meta.url);
