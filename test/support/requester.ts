import type { House } from './house.ts';

/** What a request is answered. */
export interface Answered {
  readonly status: 'ok' | 'error';
  // biome-ignore lint/suspicious/noExplicitAny: tests look into data of many shapes
  readonly data?: any;
  readonly error?: { readonly code: string; readonly message: string; readonly http_status: number | null };
  readonly transaction?: unknown;
}

/** Asks the bridge for an operation and waits for its next answer; an object is sent as JSON. */
export async function request(
  { watcher }: House,
  operation: string,
  content: object | string | Buffer = {},
): Promise<Answered> {
  const from = watcher.messages.length;
  const isRaw = typeof content === 'string' || Buffer.isBuffer(content);
  await watcher.publish(`sonic2mqtt/bridge/request/${operation}`, isRaw ? content : JSON.stringify(content));
  const answer = await watcher.waitForMessage(
    ({ topic }) => topic === `sonic2mqtt/bridge/response/${operation}`,
    { what: `the answer to ${operation}`, from, timeoutMs: 10_000 },
  );
  return JSON.parse(answer.text);
}

/** All answers to an operation so far, oldest first. */
export function answersTo({ watcher }: House, operation: string): Answered[] {
  return watcher.messages
    .filter(({ topic }) => topic === `sonic2mqtt/bridge/response/${operation}`)
    .map(({ text }) => JSON.parse(text));
}
