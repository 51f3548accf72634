import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Account } from '../measure/account.ts';
import type { Broker } from '../measure/broker.ts';
import { confirmMs } from './subjects.ts';

/** A retained message. */
export interface Message {
  readonly topic: string;
  readonly payload: string;
}

/** What the bridge asks and leaves on the broker, for the raw loop to do the same. */
export interface Script {
  /** Of the requests after the sign-in, in their order. */
  readonly paths: readonly string[];
  readonly messages: readonly Message[];
}

/** Where the raw loop asks and publishes. */
interface Surroundings {
  readonly account: Account;
  readonly broker: Pick<Broker, 'url' | 'protocolVersion'>;
  /** To the cloud. */
  readonly connections?: number | undefined;
}

/** As the bridge has by default. */
const usualConnections = 4;

/** Writes it down as raw.mjs reads it; the folder is made. */
export function writeScript(
  folder: string,
  { paths, messages }: Script,
  { account, broker, connections = usualConnections }: Surroundings,
): void {
  mkdirSync(folder, { recursive: true });
  const payloads = messages.map(({ payload }) => Buffer.from(payload));
  const lengths = messages.map(({ topic }, index) => [topic, payloads[index]?.length ?? 0]);
  const { url: brokerUrl, protocolVersion } = broker;
  const written = { connections, account, brokerUrl, protocolVersion, confirmMs, paths, lengths };
  writeFileSync(join(folder, 'script.json'), JSON.stringify(written));
  writeFileSync(join(folder, 'payloads'), Buffer.concat(payloads));
}

const kinds = ['bridge', 'property', 'signal', 'sonic', 'incident'];

/** In the order in which the bridge publishes: parents first, and of each the discovery message before its states. */
export function inOrder(messages: readonly Message[]): Message[] {
  const kindOf = new Map(
    messages.flatMap(({ topic }) => {
      const [root, kind = '', id = ''] = topic.split('/');
      return root === 'homeassistant' ? [] : [[id, kinds.indexOf(kind)] as const];
    }),
  );
  const placeOf = ({ topic }: Message): readonly [number, string, number] => {
    const [root, kind = '', id = ''] = topic.split('/');
    if (root !== 'homeassistant') return [kinds.indexOf(kind), kind === 'bridge' ? '' : id, 1];
    const device = id.replace(/^sonic2mqtt_/, '');
    return [kindOf.get(device) ?? 0, device === 'bridge' ? '' : device, 0];
  };
  const placed = messages.map((message) => ({ message, place: placeOf(message) }));
  placed.sort(({ place: left }, { place: right }) => {
    return left[0] - right[0] || (left[1] < right[1] ? -1 : left[1] > right[1] ? 1 : left[2] - right[2]);
  });
  return placed.map(({ message }) => message);
}
