import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/program.ts';
import { dayMs, type Home, hourMs, leisurely, minuteMs, startedHome } from './home.ts';

const signIns = (home: Home) => home.asked('sign_in');

/** Every unique id that Home Assistant is told of. */
function uniqueIds(home: Home): string[] {
  const payloads = [...home.broker.retained].filter(([topic]) => topic.startsWith('homeassistant/device/'));
  return payloads
    .flatMap(([, payload]) => Object.values<{ unique_id?: string }>(JSON.parse(payload).components))
    .flatMap(({ unique_id }) => unique_id ?? [])
    .toSorted();
}

describe('7: the password was changed, and only removing and adding everything again helps', () => {
  it('Home Assistant says so, and once its file is right all goes on by itself, with the same ids', async () => {
    const file = join(temporaryFolder(), 'password');
    writeFileSync(file, 'demo\n');
    const home = await startedHome({
      config: { cloud: { password: null, password_file: file }, schedules: leisurely },
    });
    const before = uniqueIds(home);
    expect(before.length).toBeGreaterThan(60);

    home.simulator.setPassword('a new one');
    await home.pass(2 * hourMs);
    expect(home.entity('bridge', 'sensor_status')).toMatchObject({
      state: 'Sign-in rejected',
      isAvailable: true,
    });
    expect(home.entity(home.sonicId, 'valve_valve')).toMatchObject({ state: 'open', isAvailable: false });
    expect(home.events('auth_failed')).toHaveLength(1);
    const rejected = 'warn: Cloud: the cloud rejects the e-mail or the password. Correct them. Retrying';
    expect(home.linesFrom(0).filter((line) => line === rejected)).toHaveLength(1);

    writeFileSync(file, 'a new one\n');
    // An attempt an hour is all that there is by now, and the file is on a real disk, which may be later than the
    // virtual second that an attempt waits for it: then the next one has it.
    await home.pass(2 * hourMs + 2 * minuteMs);
    expect(home.entity('bridge', 'sensor_status').state).toBe('OK');
    expect(home.entity(home.sonicId, 'valve_valve')).toMatchObject({ state: 'open', isAvailable: true });
    expect(uniqueIds(home)).toEqual(before);
    expect(home.bridge.runs).toBe(1);
  });
});

describe('8: the token lives in memory only: each restart is a sign-in, and a second account gets the first', () => {
  it('ten restarts, five of them by power cuts, need one sign-in', async () => {
    const home = await startedHome({ config: { schedules: leisurely } });
    for (let round = 0; round < 5; round++) {
      await home.restart();
      home.bridge.kill();
      await home.pass(minuteMs);
      await home.start();
    }
    expect(home.json('bridge/health').status).toBe('ok');
    expect(signIns(home)).toHaveLength(1);
  });

  it('it is renewed in time, so that weeks need no other sign-in, wherever the bridge is off for days', async () => {
    const home = await startedHome({ config: { schedules: leisurely } });
    for (let round = 0; round < 4; round++) {
      await home.stop();
      await home.pass(9 * dayMs + hourMs);
      await home.start();
      await home.pass(hourMs);
    }
    expect(home.asked('refresh_token').map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const statuses = home.published('bridge/health').map(({ payload }) => JSON.parse(payload).status);
    expect(statuses).not.toContain('auth_failed');
    expect(signIns(home)).toHaveLength(1);
  });
});

describe('9: retrying a dead credential locks the account', () => {
  /** At most three in any minute and six in any hour. */
  function expectToKeepToTheCap(at: readonly number[]): void {
    for (const begin of at) {
      const within = (ms: number) => at.filter((each) => each >= begin && each < begin + ms).length;
      expect(within(minuteMs)).toBeLessThanOrEqual(3);
      expect(within(hourMs)).toBeLessThanOrEqual(6);
    }
  }

  it('in ten hours there is an attempt an hour, a few more in the first, and it comes back by itself', async () => {
    const home = await startedHome({ config: { schedules: leisurely } });
    home.simulator.setPassword(null);
    const from = home.time.now;
    await home.pass(10 * hourMs);
    const at = signIns(home)
      .slice(1)
      .map((request) => request.at - from);
    expectToKeepToTheCap(at);
    expect(at.length).toBeGreaterThan(8);
    expect(at.length).toBeLessThanOrEqual(10 + 6);
    // Nor is anything else asked for in vain.
    const others = home.requests.filter(
      (request) => request.at > from + hourMs && request.operation !== 'sign_in',
    );
    expect(others).toEqual([]);
    home.simulator.setPassword('demo');
    // Else what it has measured would be hours old.
    home.world.setValve(home.sonicId, 'open');
    await home.pass(hourMs + minuteMs);
    expect(home.json('bridge/health').status).toBe('ok');
  });
});

describe('23: the account shows settings only, no valve and no message', () => {
  it('a property without a signal is said in the log and in Home Assistant; Wi-Fi sonics are asked for', async () => {
    const home = await startedHome({ cloud: { signals: 0, sonics: 0 } });
    const words = 'The account has a property, but no hub';
    expect(home.json('bridge/health')).toMatchObject({
      status: 'degraded',
      reason: expect.stringContaining(words),
    });
    expect(home.entity('bridge', 'sensor_status')).toMatchObject({ state: 'Degraded', isAvailable: true });
    expect(home.linesFrom(0).filter((text) => text.includes(words))).toHaveLength(1);
    expect(home.asked('list_wifi_sonics').length).toBeGreaterThan(0);
    // It goes by itself, once there is one.
    home.world.addWifiSonic();
    await home.pass(2 * minuteMs);
    expect(home.json('bridge/health').status).toBe('ok');
  });

  it('a signal without a sonic is said as well', async () => {
    const home = await startedHome({ cloud: { sonics: 0 } });
    expect(home.json('bridge/health').reason).toContain('a hub, but no valve');
  });

  it('each list is read once at the start', async () => {
    const home = await startedHome({
      cloud: { properties: 3, signals: 3, sonics: 10 },
      config: { schedules: leisurely },
    });
    const counted = ['list_properties', 'list_signals', 'list_sonics', 'list_wifi_sonics', 'list_incidents'];
    expect(counted.map((operation) => home.asked(operation).length)).toEqual([1, 1, 1, 1, 1]);
  });
});
