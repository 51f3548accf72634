import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startProgram, temporaryFolder } from '../support/program.ts';

const lengths = 2_000;

/** Runs in the program's own process, once it has ended its work: has packets of many lengths written. */
const packetsOfManyLengths = `
import { createRequire } from 'node:module';
const { writeToStream } = createRequire(${JSON.stringify(createRequire(import.meta.url).resolve('mqtt'))})('mqtt-packet');
// As the bridge has it.
writeToStream.cacheNumbers = false;
process.on('exit', () => {
  const before = process.memoryUsage().external;
  for (let length = 1; length <= ${lengths}; length++) {
    const packet = { cmd: 'publish', topic: 'a/topic', payload: 'x'.repeat(length), qos: 1, messageId: 1 };
    writeToStream(packet, { write: () => true });
    // Whatever else a bridge does between two packets.
    for (let count = 0; count < 40; count++) Buffer.from('y'.repeat(200));
  }
  globalThis.gc();
  console.log('BYTES', process.memoryUsage().external - before);
});`;

it('what the MQTT library keeps of each length that a packet has had is less than a kilobyte', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'packets.mjs'), packetsOfManyLengths);
  const env = { NODE_OPTIONS: '--expose-gc --import ./packets.mjs' };
  const program = startProgram(['--version'], { cwd, env });
  const [, bytes] = await program.waitForOutput(/^BYTES (-?\d+)$/m);
  expect(Number(bytes)).toBeLessThan(lengths * 1_000);
});
