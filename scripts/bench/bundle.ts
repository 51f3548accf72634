import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

/** The raw loop and its packages in one file, as the bridge is built. */
export async function bundledRaw(folder: string): Promise<URL> {
  const input = fileURLToPath(new URL('./raw.mjs', import.meta.url));
  const bundle = await rolldown({ input, platform: 'node', logLevel: 'silent' });
  const file = join(folder, 'raw.mjs');
  await bundle.write({ file, format: 'esm', codeSplitting: false });
  await bundle.close();
  return pathToFileURL(file);
}
