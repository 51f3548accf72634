/**
 * Calls the functions that the parent process asks for by name, and ends with the parent. Functions may be added later.
 * This is plain JavaScript, because it is also loaded into the bridge, whose memory and start are measured.
 */
export function serveParent(functions) {
  process.on('message', async ({ id, name, args }) => {
    let answer;
    try {
      answer = { id, value: await functions[name](...args) };
    } catch (error) {
      answer = { id, problem: String(error?.stack ?? error) };
    }
    // The parent may have ended meanwhile.
    if (process.connected) process.send(answer);
  });
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
}
