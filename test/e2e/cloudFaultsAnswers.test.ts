import { beforeAll, describe, expect, it, vi } from 'vitest';
import * as troubles from '../support/cloudTroubles.ts';
import { type FaultyCloud, startFaultyCloud, type Trouble } from '../support/faultyCloud.ts';
import {
  type Expectation,
  expectToStopInTime,
  type FaultyHouse,
  judgeOddity,
  judgeOutage,
  patienceMs,
  startFaultyHouse,
  untilWell,
} from '../support/outageJudge.ts';

// Polls fail, and what is known grows old.
vi.setConfig({ testTimeout: 60_000 });

const page = '<!doctype html><html><body><h1>Hotel Wi-Fi: please sign in</h1></body></html>';
const storm = [500, 502, 503, 504, 520];

describe('an answer that is none', () => {
  let faulty: FaultyHouse;
  beforeAll(async () => {
    faulty = await startFaultyHouse();
  });

  it.each<[string, Trouble, RegExp]>([
    [
      'a web page',
      troubles.answering(200, page, { 'content-type': 'text/html' }),
      /is not JSON: <!doctype html>/,
    ],
    ['a list without its envelope', troubles.answeringJson([]), /is not as promised/],
    ['an envelope without a list', troubles.answeringJson({ data: 5, page_number: 1 }), /is not as promised/],
    ['null', troubles.answeringJson(null), /is not as promised/],
    ['nothing at all, with a 204', troubles.answering(204, ''), /the cloud's answer is empty/],
    ['packed, and broken', troubles.brokenGzip, /is packed .* and cannot be unpacked/],
    ['a bomb', troubles.gzipBomb, /is packed .* and cannot be unpacked/],
  ])('is told as what it is, and changes nothing: %s', (what, trouble, words) => {
    const isActedOn = what === 'packed, and broken';
    const isLong = what === 'a web page';
    return judgeOutage(faulty, trouble, {
      status: 'degraded',
      words,
      command: 'accepted',
      isActedOn,
      isLong,
    });
  });

  it.each<[string, Trouble, Expectation]>([
    [
      'not even HTTP',
      troubles.answeringRaw('SSH-2.0-OpenSSH_9.2\r\n'),
      { status: 'degraded', words: /is not HTTP/, command: /is not HTTP/ },
    ],
    [
      'a flood of headers',
      troubles.headerFlood,
      {
        status: 'cloud_unreachable',
        words: /Headers Overflow/,
        command: /Headers Overflow/,
        isActedOn: true,
      },
    ],
    [
      'another protocol',
      troubles.answeringRaw(
        'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n',
      ),
      { status: 'cloud_unreachable', words: /broke before/, command: /broke before/ },
    ],
    [
      'one error after another',
      troubles.inTurn(storm.map((status) => troubles.answering(status, '{}'))),
      {
        status: 'cloud_unreachable',
        words: /cloud answered 5\d\d/,
        command: /cloud answered 5\d\d/,
        httpStatus: 'any',
      },
    ],
  ])('is an outage: %s', (_what, trouble, expected) => judgeOutage(faulty, trouble, expected));

  it('is told as what it is, and changes nothing: endless', () =>
    judgeOutage(faulty, troubles.huge, {
      status: 'degraded',
      words: /it is larger than 16777216 bytes/,
      command: 'accepted',
      isActedOn: true,
      failing: ['sonics', 'telemetry'],
    }));

  it('is a list of something else: what is known stays, but not for the present', async () => {
    const { house, cloud, told } = faulty;
    await cloud.begin(troubles.answeringJson({ data: [1, 'two'] }));
    const availability = `sonic2mqtt/sonic/${told}/availability`;
    await house.watcher.waitForTopic(availability, (text) => text === 'offline', patienceMs);
    expect(house.json('bridge/health')).toMatchObject({
      status: 'degraded',
      reason: expect.stringMatching(/records without a readable id: 2/),
    });
    expect(house.json(`sonic/${told}`).valve).toBe('open');
    await cloud.mend();
    await house.watcher.waitForTopic(availability, (text) => text === 'online');
    await untilWell(faulty);
  });

  it('does not keep the bridge from stopping in time', async () => {
    await faulty.cloud.begin(troubles.huge);
    await expectToStopInTime(faulty);
  });
});

describe('a redirect', () => {
  let faulty: FaultyHouse;
  let stranger: FaultyCloud;
  beforeAll(async () => {
    [faulty, stranger] = [await startFaultyHouse(), await startFaultyCloud()];
  });

  it.each([301, 302, 307, 308])(
    'to another host is not followed, and no token goes there: %i',
    async (status) => {
      const words = new RegExp(
        `the cloud answered ${status}, a redirect to http://127\\.0\\.0\\.1:${stranger.port}`,
      );
      const trouble = troubles.answering(status, '', {
        location: `http://127.0.0.1:${stranger.port}/elsewhere`,
      });
      await judgeOutage(faulty, trouble, { status: 'degraded', words, command: words, httpStatus: status });
      expect(stranger.visits).toBe(0);
    },
  );

  it('to itself is not followed', async () => {
    const words = /the cloud answered 307, a redirect to \/elsewhere/;
    const trouble = troubles.answering(307, '', { location: '/elsewhere' });
    await judgeOutage(faulty, trouble, { status: 'degraded', words, command: words, httpStatus: 307 });
    expect(faulty.cloud.asked.filter((asked) => asked.includes('/elsewhere'))).toEqual([]);
  });
});

describe('an answer that is odd, but one', () => {
  let faulty: FaultyHouse;
  beforeAll(async () => {
    faulty = await startFaultyHouse({
      config: {
        cloud: { request_timeout: '10s' },
        valve: { confirm_timeout: '20s', confirm_interval: '100ms' },
      },
    });
  });

  it.each<[string, Trouble]>([
    ['packed although nobody asked for it', troubles.gzipped],
    ['after interim ones', troubles.interim],
    ['after which the connection is closed', troubles.closingAfterEach],
    ['that calls itself a web page', troubles.mislabelled],
  ])('is read: %s', (_what, trouble) => judgeOddity(faulty, trouble));
});
