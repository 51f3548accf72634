import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { probeLiveness, serveLiveness } from '../../../src/health/liveness.ts';
import { startProcess } from '../../support/childProcess.ts';

function newName(): { name: string; stopping: AbortController } {
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  return { name: `heartbeat-test-${randomUUID()}`, stopping };
}

const onLinux = test.runIf(process.platform === 'linux');

onLinux('a running process answers with its status of the moment', async () => {
  const { name, stopping } = newName();
  let status = 'starting';
  await serveLiveness(name, () => status, stopping.signal);
  expect(await probeLiveness(name)).toBe('starting');
  status = 'ok';
  expect(await Promise.all([probeLiveness(name), probeLiveness(name)])).toEqual(['ok', 'ok']);
});

onLinux('nobody answers before it serves and after it stopped', async () => {
  const { name, stopping } = newName();
  await expect(probeLiveness(name)).rejects.toThrow('ECONNREFUSED');
  await serveLiveness(name, () => 'ok', stopping.signal);
  stopping.abort();
  await expect(probeLiveness(name)).rejects.toThrow('ECONNREFUSED');
});

onLinux('a second process under the same name is refused', async () => {
  const { name, stopping } = newName();
  await serveLiveness(name, () => 'first', stopping.signal);
  await expect(serveLiveness(name, () => 'second', stopping.signal)).rejects.toThrow('EADDRINUSE');
  expect(await probeLiveness(name)).toBe('first');
});

onLinux('a process whose event loop is stuck does not answer', async () => {
  const { name } = newName();
  const address = `'\\0${name} ' + require('fs').readlinkSync('/proc/self/ns/mnt')`;
  const stuck = startProcess(process.execPath, [
    '-e',
    `require('net').createServer().listen(${address}, () => { console.log('up'); for (;;); })`,
  ]);
  await stuck.waitForOutput(/up/);
  await expect(probeLiveness(name, 100)).rejects.toThrow('no answer within 100 ms');
});
