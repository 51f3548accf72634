import { type LookupAddress, lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

type Waiting = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/**
 * Looks up hosts, each of them once at a time. A look-up goes on after its connection was given up, and occupies one of
 * the two threads that Node.js has for look-ups until the DNS server has answered. So a new attempt joins it. Otherwise
 * the attempts to reach the cloud would keep the bridge from finding its broker.
 */
export function joinedLookUp(look: typeof lookup = lookup): LookupFunction {
  const waitingFor = new Map<string, Waiting[]>();
  return (host, options, callback) => {
    const waiting: Waiting = (error, addresses) => {
      const first = addresses?.[0];
      if (options.all || !first) callback(error, addresses);
      else callback(error, first.address, first.family);
    };
    const others = waitingFor.get(host);
    others?.push(waiting);
    if (others) return;
    const all = [waiting];
    waitingFor.set(host, all);
    look(host, { ...options, all: true }, (error, addresses) => {
      waitingFor.delete(host);
      for (const each of all) each(error, addresses);
    });
  };
}
