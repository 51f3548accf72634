// Node 20 cannot run TypeScript; with this it runs the scripts:  node --import ./scripts/typescript.mjs FILE
import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

// Node calls the hook below on a thread of its own, which loads this file once more.
if (isMainThread) register(import.meta.url);

/** A module hook: TypeScript files are loaded without their types, which `tsc` checks. */
export async function load(url, context, nextLoad) {
  // Node 20 warns of each JSON file that is imported as such.
  if (url.endsWith('.json')) {
    const source = `export default ${await readFile(new URL(url), 'utf8')}`;
    return { format: 'module', source, shortCircuit: true };
  }
  if (!url.endsWith('.ts')) return nextLoad(url, context);
  const { default: ts } = await import('typescript');
  const { outputText } = ts.transpileModule(await readFile(new URL(url), 'utf8'), {
    compilerOptions: {
      module: ts.ModuleKind.ESNext,
      target: ts.ScriptTarget.ES2023,
      verbatimModuleSyntax: true,
    },
  });
  return { format: 'module', source: outputText, shortCircuit: true };
}
