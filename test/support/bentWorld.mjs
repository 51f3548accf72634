// Preloaded into the program under test: bends its wall clock and its name lookup as the file BENT_WORLD says.
import dns from 'node:dns';
import { readFileSync } from 'node:fs';

const RealDate = Date;
const realLookup = dns.lookup;
let bend = { shiftMs: 0, lookupFault: null };
let readAt = Number.NEGATIVE_INFINITY;

/** The clock is read too often to look at the file each time; a lookup must not take the world to be as it was. */
function present(mostAgeMs) {
  if (performance.now() - readAt > mostAgeMs) {
    readAt = performance.now();
    bend = JSON.parse(readFileSync(process.env.BENT_WORLD, 'utf8'));
  }
  return bend;
}

globalThis.Date = class BentDate extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(BentDate.now());
    else super(...given);
  }

  static now() {
    return RealDate.now() + present(20).shiftMs;
  }
};

dns.lookup = (name, options, callback) => {
  const { lookupFault } = present(0);
  if (!name.endsWith('.invalid')) return realLookup(name, options, callback);
  if (lookupFault === null) return realLookup('127.0.0.1', options, callback);
  const error = Object.assign(new Error(`getaddrinfo ${lookupFault} ${name}`), {
    code: lookupFault,
    syscall: 'getaddrinfo',
    hostname: name,
  });
  return setImmediate(callback, error);
};
