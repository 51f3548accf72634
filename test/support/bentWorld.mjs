// Preloaded into the program under test: bends its wall clock and its name lookup as the file BENT_WORLD says.
import dns from 'node:dns';
import { readFileSync } from 'node:fs';

const RealDate = Date;
const realLookup = dns.lookup;
let bend = { shiftMs: 0, lookupFault: null };
let readAt = Number.NEGATIVE_INFINITY;

function present() {
  if (performance.now() - readAt > 20) {
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
    return RealDate.now() + present().shiftMs;
  }
};

dns.lookup = (name, options, callback) => {
  const { lookupFault } = present();
  if (!name.endsWith('.invalid')) return realLookup(name, options, callback);
  if (lookupFault === null) return realLookup('127.0.0.1', options, callback);
  const error = Object.assign(new Error(`getaddrinfo ${lookupFault} ${name}`), {
    code: lookupFault,
    syscall: 'getaddrinfo',
    hostname: name,
  });
  return setImmediate(callback, error);
};
