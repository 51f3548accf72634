import { createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { connectOnce } from '../../../src/cli/ports.ts';

it('tells a server that does not answer from one to which there is no connection', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await new Promise((resolve) => silent.once('listening', resolve));
  const { port } = Object(silent.address());
  await expect(connectOnce('127.0.0.1', port, 50, true)).rejects.toThrow('accepts connections but does not');
});
