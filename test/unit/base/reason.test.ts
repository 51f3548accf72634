import { describe, expect, it } from 'vitest';
import { reasonOf } from '../../../src/base/reason.ts';

describe('the reason of an error', () => {
  it.each([
    'self-signed certificate; if the root CA is installed locally, try running Node.js with --use-system-ca',
    'self-signed certificate',
  ])('leaves out what Node advises its own users: %s', (message) => {
    expect(reasonOf(new Error(message))).toBe('self-signed certificate');
  });

  it('is the whole message otherwise', () => {
    expect(reasonOf(new Error('certificate has expired; renew it'))).toBe(
      'certificate has expired; renew it',
    );
  });

  it('is what was thrown where that is no error', () => {
    expect(reasonOf('no room')).toBe('no room');
    expect(reasonOf(undefined)).toBe('undefined');
  });
});
