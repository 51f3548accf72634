import { expect, it } from 'vitest';
import { startProgram } from '../support/program.ts';

const preload = new URL('../support/brokenJson.mjs', import.meta.url);

it('A stack trace in the log names lines of the sources, although the program is a bundle', async () => {
  const demo = startProgram(['demo', '--port', '0'], { env: { NODE_OPTIONS: `--import=${preload.href}` } });
  await demo.waitForOutput(
    /Internal error: cannot publish (?:valve|hub) .+[\s\S]+ at planDiscovery \(src\/homeassistant\/discovery\.ts:\d+:\d+\)/,
  );
  expect(demo.stderr).toContain('a slip of the pen');
  demo.signal('SIGTERM');
  expect((await demo.ended()).code).toBe(0);
});
