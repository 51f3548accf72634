import { type LookupAddress, lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

type Waiting = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/** The code of the error if a filter in the network gives a host no address. */
export const blockedCode = 'EBLOCKED';

/** Filters such as Pi-hole answer with these. A connection to them would reach this computer itself. */
const noAddresses = ['0.0.0.0', '::'];

/**
 * Looks up each host once at a time. A look-up goes on after its connection was given up, and occupies one of the two
 * threads that Node.js has for look-ups. So a new attempt joins it, and the bridge still finds its broker.
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
    look(host, { ...options, all: true }, (error, found) => {
      waitingFor.delete(host);
      const addresses = found?.filter(({ address }) => !noAddresses.includes(address));
      const isBlocked = addresses?.length === 0 && found.length > 0;
      const blocked = isBlocked ? Object.assign(new Error('blocked'), { code: blockedCode }) : null;
      for (const each of all) each(error ?? blocked, addresses);
    });
  };
}
