import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { type RunningProcess, startProcess } from './childProcess.ts';
import { temporaryFolder } from './program.ts';

/**
 * A Python program that listens like systemd, because Node.js cannot. It prints each message and releases its
 * sender.
 */
const listener = `
import array, os, socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.bind(sys.argv[1])
print('listening', flush=True)
while True:
    text, extra, *_ = server.recvmsg(4096, socket.CMSG_SPACE(64))
    for *_, data in extra:
        for fd in array.array('i', data): os.close(fd)
    if text != b'BARRIER=1': print(text.decode(), flush=True)
`;

/** Whether systemd-notify and Python are installed. */
export const notifyAvailable = ['systemd-notify', 'python3'].every(
  (command) => spawnSync(command, ['--version']).status === 0,
);

/** Listens like systemd. Returns the path of the socket, and the listener with its output. */
export async function listenAsSystemd(): Promise<{ path: string; listener: RunningProcess }> {
  const path = join(temporaryFolder(), 'notify');
  const running = startProcess('python3', ['-c', listener, path]);
  await running.waitForOutput(/listening/);
  return { path, listener: running };
}
