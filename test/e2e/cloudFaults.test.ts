import { beforeAll, describe, expect, it, vi } from 'vitest';
import * as troubles from '../support/cloudTroubles.ts';
import type { Trouble } from '../support/faultyCloud.ts';
import {
  type Expectation,
  expectToStopInTime,
  type FaultyHouse,
  judgeOutage,
  startFaultyHouse,
  untilWell,
} from '../support/outageJudge.ts';

// Polls fail, and what is known grows old.
vi.setConfig({ testTimeout: 60_000 });

const unreachable = 'cloud_unreachable';
const broke = /broke before the answer was complete/;

describe('the network', () => {
  let faulty: FaultyHouse;
  beforeAll(async () => {
    faulty = await startFaultyHouse();
  });

  it.each<[string, Trouble, Expectation]>([
    [
      'nobody listens',
      troubles.refused,
      { status: unreachable, words: /connection refused by/, command: /connection refused by/ },
    ],
    [
      'connections are hung up on',
      troubles.resetAtOnce,
      { status: unreachable, words: broke, command: broke },
    ],
    [
      'connections break once the cloud has acted',
      troubles.resetAfterRequest,
      { status: unreachable, words: broke, command: broke, isActedOn: true },
    ],
    [
      'connections are made, but nobody reads',
      troubles.halfOpen,
      { status: unreachable, words: /timeout: .* without an answer/, command: /timeout/ },
    ],
    [
      'the other end goes away without a word',
      troubles.goneSilently,
      { status: unreachable, words: /timeout: .* without an answer/, command: /timeout/ },
    ],
    [
      'the cloud acts, but does not answer',
      troubles.hung,
      {
        status: unreachable,
        words: /timeout: .* without an answer/,
        command: /timeout/,
        isActedOn: true,
        isLong: true,
      },
    ],
    [
      'answers come byte by byte',
      troubles.drippingHead,
      { status: unreachable, words: /timeout/, command: /timeout/, isActedOn: true },
    ],
    [
      'bodies come byte by byte',
      troubles.drippingBody,
      { status: unreachable, words: /timeout: .* within the answer/, command: 'accepted', isActedOn: true },
    ],
    [
      'bodies are shorter than promised',
      troubles.truncated,
      { status: unreachable, words: broke, command: 'accepted', isActedOn: true },
    ],
    [
      'bodies end within a chunk',
      troubles.cutInChunk,
      { status: unreachable, words: broke, command: 'accepted', isActedOn: true },
    ],
  ])('may fail so that %s', (_what, trouble, expected) => judgeOutage(faulty, trouble, expected));

  it('may fail while the session runs out, which is renewed once afterwards', async () => {
    const { house, cloud } = faulty;
    const { requests } = house.simulator;
    const renewals = () => requests.count('sign_in') + requests.count('refresh_token');
    const before = renewals();
    await cloud.begin(troubles.refused);
    await house.watcher.waitForTopic(
      'sonic2mqtt/bridge/health',
      (text) => JSON.parse(text).status === unreachable,
      10_000,
    );
    house.simulator.expireTokens();
    await cloud.mend();
    await untilWell(faulty);
    expect(renewals() - before).toBe(1);
  });

  it('does not keep the bridge from stopping in time', async () => {
    await faulty.cloud.begin(troubles.halfOpen);
    await expectToStopInTime(faulty);
  });
});
