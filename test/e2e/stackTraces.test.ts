import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { startProgram } from '../support/program.ts';

const preload = fileURLToPath(new URL('../support/clumsyJson.mjs', import.meta.url));
const startWith = (slip: string) =>
  startProgram(['demo', '--port', '0'], { env: { NODE_OPTIONS: `--import=${preload}`, SLIP: slip } });

describe('a stack trace names lines of the sources, although the program is a bundle,', () => {
  it('in the log', async () => {
    const demo = startWith('serial_number');
    await demo.waitForOutput(
      /Showing s\w+ \S+ went wrong[\s\S]+ at announcementOf \(src\/homeassistant\/announcement\.ts:\d+:\d+\)/,
    );
    expect(demo.stderr).toContain('a slip of the pen');
    demo.signal('SIGTERM');
    expect((await demo.ended()).code).toBe(0);
  });

  it('and when it is the end of the program', async () => {
    const demo = startWith('started_at');
    expect((await demo.ended()).code).toBe(1);
    expect(demo.stderr).toMatch(/a slip of the pen[\s\S]+ at \S*#plan \(src\/bridge\/bridge\.ts:\d+:\d+\)/);
  });
});
