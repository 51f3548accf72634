import { describe, expect, it } from 'vitest';
import { errorMessage } from '../../../src/base/errorMessage.ts';

describe('the reason of an error', () => {
  it.each([
    'self-signed certificate; if the root CA is installed locally, try running Node.js with --use-system-ca',
    'self-signed certificate',
  ])('leaves out what Node advises its own users: %s', (message) => {
    expect(errorMessage(new Error(message))).toBe('self-signed certificate');
  });

  it('is the whole message otherwise', () => {
    expect(errorMessage(new Error('certificate has expired; renew it'))).toBe(
      'certificate has expired; renew it',
    );
  });

  it('is what was thrown where that is no error', () => {
    expect(errorMessage('no room')).toBe('no room');
    expect(errorMessage(undefined)).toBe('undefined');
  });
});
