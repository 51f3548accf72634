import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { describeDuration } from '../base/duration.ts';

/** How old a delivery may be, in ms. The vendor advises ten minutes. */
const toleranceMs = 600_000;

/**
 * The problem with the signature of a delivery; null if the signature is right. The vendor signs like Stripe:
 * `t=SECONDS,v1=HEX`, perhaps with further signatures of other schemes. HEX is HMAC-SHA256 over the time, a dot and the
 * body.
 */
export function signatureProblem(
  header: string | undefined,
  body: Buffer,
  secret: string,
  now: number,
): string | null {
  const { at, given } = readHeader(header ?? '');
  if (header === undefined) return 'the signature is missing';
  if (at === null || given.length === 0) return 'HL-Signature must have the form t=…,v1=…';
  const wanted = createHmac('sha256', secret).update(`${at}.`).update(body).digest();
  const isRight = given.some((each) => isEqual(Buffer.from(each, 'hex'), wanted));
  if (!isRight) return 'wrong signature. Check http.webhook.signing_secret';
  const ageMs = now - Number(at) * 1_000;
  if (Math.abs(ageMs) <= toleranceMs) return null;
  const age = describeDuration(Math.abs(ageMs));
  return ageMs > 0
    ? `it was signed ${age} ago. Check the clock of this computer`
    : `it was signed ${age} in the future. Check the clock of this computer`;
}

/** Whether two texts are the same. The time that this takes does not show how much of them is the same. */
export function isSameSecret(given: string, wanted: string): boolean {
  return isEqual(sha256Of(given), sha256Of(wanted));
}

function sha256Of(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function isEqual(left: Buffer, right: Buffer): boolean {
  return left.length === right.length && timingSafeEqual(left, right);
}

function readHeader(header: string): { at: string | null; given: string[] } {
  const parts = header.split(',').map((part) => part.trim().split('='));
  const at = parts.find(([name, value]) => name === 't' && /^\d{1,12}$/.test(value ?? ''))?.[1] ?? null;
  const given = parts.filter(([name, value]) => name === 'v1' && /^[\da-f]{64}$/i.test(value ?? ''));
  return { at, given: given.map(([, value = '']) => value) };
}
