import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CloudError } from '../../../src/cloud/errors.ts';
import { dateAfter, dateAt, monthAfter, monthOf } from '../../../src/model/calendar.ts';
import type { DailyUsage } from '../../../src/model/records.ts';
import { newRun } from '../../../src/polling/pollParts.ts';
import { UsagePoll } from '../../../src/polling/usage.ts';
import { between, pick, seededRandom } from '../../../src/simulator/random.ts';
import { StateFile } from '../../../src/state/stateFile.ts';
import { Store } from '../../../src/store/store.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { logLines } from '../../support/logLines.ts';
import { ownedSignals } from '../../support/ownedSignals.ts';
import { temporaryFolder } from '../../support/program.ts';
import { monthIn, sonicPollParts } from '../../support/sonicPolls.ts';
import { aProperty, aSignal, aSonic, someSettings } from '../../support/views.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const id = 'sonic-1';
const timezones = ['Europe/London', 'America/Santiago', 'Pacific/Kiritimati', 'Etc/GMT+12', 'Asia/Beirut'];

/** A cloud that counts one household's water in millilitres, and corrects itself now and then. */
class Household {
  readonly #random: () => number;
  readonly #daysMl = new Map<string, number>();
  /** By how much days were ever made less. */
  takenBackMl = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  use(date: string): void {
    this.#daysMl.set(date, (this.#daysMl.get(date) ?? 0) + between(this.#random, 0, 120_000));
  }

  /** Corrects a day, up or down; none that is older than the month before the one that has begun anywhere. */
  correct(nowMs: number): void {
    const oldest = monthAfter(monthOf(dateAt(nowMs, 'Pacific/Kiritimati')), -1);
    const day = pick(
      this.#random,
      [...this.#daysMl].filter(([date]) => monthOf(date) >= oldest),
    );
    if (!day) return;
    const [date, before] = day;
    const after = between(this.#random, 0, 2 * before);
    this.#daysMl.set(date, after);
    this.takenBackMl += Math.max(0, before - after);
  }

  /** What is told of a month: now and then an old figure besides the new, and now and then not each present day. */
  tell(month: string, isPresent: boolean): DailyUsage {
    const days = [...this.#daysMl].filter(([date]) => monthOf(date) === month);
    const told = isPresent && this.#random() < 0.05 ? days.slice(1) : days;
    const daily = told.map(([date, ml]) => ({ date, liters: ml / 1_000 }));
    const again = daily
      .filter(() => this.#random() < 0.02)
      .map(({ date, liters }) => ({ date, liters: liters / 2 }));
    return { daily: this.#random() < 0.5 ? [...again, ...daily] : [...daily, ...again] };
  }

  sumMl(sinceMonth: string): number {
    const days = [...this.#daysMl].filter(([date]) => monthOf(date) >= sinceMonth);
    return days.reduce((sum, [, ml]) => sum + ml, 0);
  }
}

/** A run of the bridge on the folder. */
async function startOn(directory: string, clock: FakeClock, answer: (month: string) => Promise<DailyUsage>) {
  const store = new Store({ selection: [], clock });
  // Its own clock stands still: it writes when it is told to.
  const state = new StateFile(directory, logLines('error').log, new FakeClock());
  await state.open();
  const at = { isComplete: true, startedAt: 0 };
  store.replaceProperties({ records: [aProperty()], ...at });
  store.setOwnedSignals(ownedSignals('property-1', ['signal-1']));
  store.replaceSignals({ records: [aSignal()], ...at });
  store.replaceSonics({ records: [aSonic()], ...at });
  const { parts, run } = sonicPollParts({
    store,
    state,
    answers: {
      read_daily_usage: ({ query }) => answer(monthIn(query)),
    },
    maxAgeMs: hourMs,
    timezone: 'UTC',
    clock,
  });
  const usage = new UsagePoll(parts);
  const read = async () => {
    await run('usage', () => usage.poll(newRun()));
  };
  const setTimezone = (timezone: string) => {
    store.setSettings('property-1', someSettings({ timezone }), clock.monotonic());
    usage.refresh();
  };
  const totalMl = () => {
    const total = store.sonicView(id)?.usage?.totalL ?? null;
    return total === null ? null : Math.round(total * 1_000);
  };
  return { read, state, setTimezone, totalMl };
}

it.each([0, 1])(
  'a year of water, outages, restarts and corrections is counted to the millilitre (seed %i)',
  async (seed) => {
    const random = seededRandom(seed);
    const startMonth = between(random, 0, 11);
    const clock = new FakeClock(Date.UTC(2025, startMonth, between(random, 1, 28), between(random, 0, 23)));
    const directory = temporaryFolder();
    const file = join(directory, 'sonic2mqtt.json');
    const household = new Household(random);
    let timezone = 'Europe/London';
    let isOutage = false;
    const answer = async (month: string): Promise<DailyUsage> => {
      if (isOutage || random() < 0.1) throw new CloudError('unavailable', 'read_daily_usage', 'away', {});
      return household.tell(month, month === monthOf(dateAt(clock.now(), timezone)));
    };

    for (let day = 0; day < 70; day++) household.use(dateAfter(dateAt(clock.now(), timezone), -day));
    let bridge = await startOn(directory, clock, answer);
    /** The first month that counts: the one before that of the first reading. */
    let since = '';
    let saved: string | null = null;
    let lastMl: number | null = null;
    let lessMl = 0;
    const seen = { checks: 0, outages: 0, restarts: 0, crashes: 0 };

    const read = async () => {
      bridge.setTimezone(timezone);
      const wasKnown = bridge.state.kept.usage.has(id);
      await bridge.read().catch(() => {});
      const presentMonth = monthOf(dateAt(clock.now(), timezone));
      if (!wasKnown && bridge.state.kept.usage.get(id)) since = monthAfter(presentMonth, -1);
      const totalMl = bridge.totalMl();
      if (lastMl !== null) {
        // Once there is a sum there always is, and nothing but corrections makes it less.
        expect(totalMl).not.toBeNull();
        lessMl += Math.max(0, lastMl - (totalMl ?? 0));
        expect(lessMl).toBeLessThanOrEqual(household.takenBackMl);
      }
      lastMl = totalMl;
    };
    /** On another day, as the month before is read once a day, and as often as it takes to catch up. */
    const check = async () => {
      isOutage = false;
      clock.advance(dayMs);
      household.use(dateAt(clock.now(), timezone));
      for (let round = 0; round < 40; round++) await read();
      expect(bridge.totalMl()).toBe(household.sumMl(since));
    };

    for (const endsAt = clock.now() + 365 * dayMs; clock.now() < endsAt; ) {
      const chance = random();
      isOutage = chance < 0.02;
      const longestMs = isOutage ? (pick(random, [2, 40, 100]) ?? 2) * dayMs : 14 * hourMs;
      // Water runs on every day that goes by, whether anybody looks or not.
      for (const until = clock.now() + random() * longestMs; clock.now() < until; clock.advance(6 * hourMs)) {
        household.use(dateAt(clock.now(), timezone));
      }
      if (isOutage) seen.outages++;
      if (random() < 0.3) household.correct(clock.now());
      if (chance > 0.9) {
        await bridge.state.close();
        const isCrash = chance > 0.95 && saved !== null;
        // After a crash the file is what was written some time before.
        if (saved !== null && isCrash) {
          writeFileSync(file, saved);
          lastMl = null;
        }
        seen[isCrash ? 'crashes' : 'restarts']++;
        bridge = await startOn(directory, clock, answer);
      }
      if (random() < 0.02) timezone = pick(random, timezones) ?? timezone;
      await read();
      if (random() < 0.05 && lastMl !== null) {
        await bridge.state.close();
        saved = readFileSync(file, 'utf8');
      }
      if (random() < 0.02) {
        await check();
        seen.checks++;
      }
    }
    await check();
    expect(bridge.state.kept.usage.get(id)?.months.length).toBeLessThanOrEqual(3);
    for (const [what, times] of Object.entries(seen)) expect([what, times > 0]).toEqual([what, true]);
  },
);
