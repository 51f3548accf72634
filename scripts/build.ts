/**
 * Bundles the program with all that it needs into dist: `npm run build`. One file instead of hundreds starts in half the
 * time and takes a third less memory; it is left readable, so that the lines of a stack trace can be found in it.
 */
import { writeFileSync } from 'node:fs';
import { rolldown } from 'rolldown';
import { licencesOf } from './build/licences.ts';
import { oneByte } from './build/oneByte.ts';
import { substitutes } from './build/substitutes.ts';
import { textFiles } from './build/textFiles.ts';

const bundle = await rolldown({
  input: { main: 'src/start.ts' },
  platform: 'node',
  plugins: [...substitutes, textFiles, oneByte],
});
const { output } = await bundle.write({
  dir: 'dist',
  cleanDir: true,
  // With them the program would take a fifth more memory for its text. The licences are in a file of their own.
  comments: false,
  entryFileNames: '[name].js',
  chunkFileNames: 'chunks/[name].js',
});
await bundle.close();

const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
writeFileSync('dist/LICENCES.txt', licencesOf(modules));
