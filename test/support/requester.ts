import type { OperationName } from '../../src/cloud/operations.ts';
import { type House, startHouse } from './house.ts';

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

/** A house whose bridge shows all its devices. */
export async function shownHouse(options: Parameters<typeof startHouse>[0] = {}): Promise<House> {
  const house = await startHouse(options);
  for (const id of house.simulator.world.sonics.ids) {
    await house.watcher.waitForTopic(`sonic2mqtt/sonic/${id}/incidents`, () => true, 10_000);
  }
  return house;
}

/** The events of commands to this operation's topic. */
export const outcomes = (house: House, operation: string) =>
  house
    .events('command')
    .filter(({ topic }) => topic === `sonic2mqtt/bridge/request/${operation}`)
    .map(({ status, reason, http_status }) => ({ status, reason, http_status }));

/** What the simulated cloud was asked of an operation. */
export const asked = ({ simulator }: House, name: OperationName) =>
  simulator.requests.entries.filter(({ operation }) => operation === name);

/** One of the sonics of the simulated cloud. */
export const sonicId = ({ simulator }: House, index = 0) => simulator.world.sonics.ids[index] ?? '';
