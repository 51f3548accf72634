import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { type Bend, type BentWorld, bentWorld } from '../support/bentWorld.ts';
import { authorities, certificates } from '../support/certificates.ts';
import { answering, halfOpen, resetAtOnce } from '../support/cloudTroubles.ts';
import { type FaultyCloud, startFaultyCloud, type Trouble } from '../support/faultyCloud.ts';
import { startHouse } from '../support/house.ts';
import {
  type Expectation,
  expectToStopInTime,
  type FaultyHouse,
  judgeOutage,
  startFaultyHouse,
} from '../support/outageJudge.ts';
import { startProgram, temporaryFolder } from '../support/program.ts';
import { waitFor } from '../support/waitFor.ts';

// Polls fail, and what is known grows old.
vi.setConfig({ testTimeout: 60_000 });

const unreachable = 'cloud_unreachable';

describe('TLS', () => {
  let faulty: FaultyHouse;
  let stranger: FaultyCloud;
  beforeAll(async () => {
    const authorityFile = join(temporaryFolder(), 'authorities.pem');
    writeFileSync(authorityFile, authorities);
    stranger = await startFaultyCloud();
    faulty = await startFaultyHouse({
      cloud: await startFaultyCloud(certificates.own),
      baseUrl: (port) => `https://127.0.0.1:${port}`,
      env: { NODE_EXTRA_CA_CERTS: authorityFile },
    });
  });

  it.each<[string, Trouble, RegExp]>([
    ['whose authority is unknown', { certificate: certificates.stranger }, /TLS: self-signed certificate/],
    ['that is for another name', { certificate: certificates.elsewhere }, /TLS: .*not in the cert/],
    ['that has expired', { certificate: certificates.expired }, /TLS: certificate has expired/],
  ])('does not trust a certificate %s', (_what, trouble, words) =>
    judgeOutage(faulty, trouble, { status: unreachable, words, command: words, isLong: true }),
  );

  it.each<[string, Trouble, Expectation]>([
    [
      'the other end speaks plain HTTP',
      { certificate: null },
      { status: unreachable, words: /TLS: .* does not speak TLS/, command: /TLS: .* does not speak TLS/ },
    ],
    [
      'nobody shakes hands',
      halfOpen,
      { status: unreachable, words: /timeout: no connection|while connecting/, command: /timeout/ },
    ],
    [
      'the connection breaks before hands are shaken',
      resetAtOnce,
      { status: unreachable, words: /broke|TLS/, command: /broke|TLS/ },
    ],
  ])('may fail so that %s', (_what, trouble, expected) => judgeOutage(faulty, trouble, expected));

  it('is not left for plain HTTP because a redirect says so', async () => {
    const words = /the cloud answered 302, a redirect to http:/;
    const trouble = answering(302, '', { location: `http://127.0.0.1:${stranger.port}/sonics` });
    await judgeOutage(faulty, trouble, { status: 'degraded', words, command: words, httpStatus: 302 });
    expect(stranger.visits).toBe(0);
  });

  it('that is never begun is said once by check', async () => {
    await faulty.cloud.begin(halfOpen);
    const config = {
      cloud: {
        base_url: `https://127.0.0.1:${faulty.cloud.port}`,
        email: 'me@example.com',
        password: 'x',
        request_timeout: '1s',
      },
      mqtt: { url: 'mqtt://127.0.0.1:1' },
    };
    const check = startProgram(['check'], { config });
    await check.ended();
    expect(check.stdout).toMatch(
      /^FAIL cloud: TLS: no answer from 127\.0\.0\.1:\d+: it takes connections but does not answer$/m,
    );
  });

  it('that is never begun does not keep the bridge from stopping in time', async () => {
    await faulty.cloud.begin(halfOpen);
    await expectToStopInTime(faulty);
  });
});

describe('the name of the cloud', () => {
  let faulty: FaultyHouse;
  let world: BentWorld;
  beforeAll(async () => {
    world = bentWorld();
    faulty = await startFaultyHouse({ baseUrl: (port) => `http://cloud.invalid:${port}`, env: world.env });
  });

  it.each<[NonNullable<Bend['lookupFault']>, RegExp]>([
    ['ENOTFOUND', /DNS: no such host cloud\.invalid/],
    ['EAI_AGAIN', /DNS: cannot look up cloud\.invalid/],
  ])('may fail to be looked up: %s', async (lookupFault, words) => {
    const { cloud } = faulty;
    const nameless: FaultyCloud = {
      port: cloud.port,
      target: cloud.target,
      asked: cloud.asked,
      tokens: cloud.tokens,
      visits: cloud.visits,
      begin: async (trouble) => {
        world.bend({ lookupFault });
        await cloud.begin(trouble);
      },
      mend: async () => world.bend({}),
    };
    await judgeOutage({ ...faulty, cloud: nameless }, {}, { status: unreachable, words, command: words });
  });

  it('that leads nowhere is told as such, and once', async () => {
    const house = await startHouse({ config: { cloud: { base_url: 'http://no-such-host.invalid' } } });
    const isTold = () => /DNS: .*no-such-host\.invalid/.test(house.json('bridge/health')?.reason);
    await waitFor(isTold, { what: 'words about it', timeoutMs: 30_000 });
    expect((await house.bridge.stop()).code).toBe(0);
    expect(house.bridge.stderr.match(/WARN: .*DNS: /g)).toHaveLength(1);
  }, 40_000);
});
