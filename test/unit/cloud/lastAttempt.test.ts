import { expect, it } from 'vitest';
import { closeValve, startClient } from '../../support/clientBench.ts';

const session = { token: 'kept', since: Date.now() };

it('a command whose second attempt came too late to be sent fails as its first did', async () => {
  const { client, stub } = await startClient(() => ({ status: 429 }), {
    session,
    requestTimeoutMs: 1_500,
    // The longest wait before another attempt: it leaves too little time to send it.
    random: () => 1,
  });
  const error = await client.call(closeValve, { timeoutMs: 620 }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ kind: 'rateLimited', status: 429, mayHaveActed: false });
  expect(stub.requests).toHaveLength(1);
});
