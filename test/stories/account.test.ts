import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/program.ts';
import { type Home, hourMs, minuteMs, startedHome } from './home.ts';
import { tell } from './words.ts';

tell(import.meta.url, {
  /** The cloud takes this password only; without one it takes none. */
  password: (home, password) => home.simulator.setPassword(password ?? null),
  others: ({ requests }) => `${requests.filter(({ operation }) => operation !== 'sign_in').length} others`,
});

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
      config: { cloud: { password: null, password_file: file } },
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
