import { describe, expect, it } from 'vitest';
import { type Memory, PauseJudge } from '../oracle/pauseJudge.ts';
import type { SeenRequest } from './virtualCloud.ts';

const minuteMs = 60_000;

/**
 * A cloud with one property, a broker and the judge, without a bridge. The test publishes true and false
 * messages in place of a bridge.
 */
class PauseBench {
  now = 0;
  isOn = true;
  canPublish = true;
  memory: Memory = 'kept';
  isHealthOk = true;
  readonly violations: string[] = [];
  readonly #retained = new Map<string, string>();
  readonly judge = new PauseJudge(this.#retained, 'sonic2mqtt', {
    now: () => this.now,
    canPublish: () => this.canPublish,
    isRefused: () => false,
    memory: () => this.memory,
    showsRetained: () => true,
    isHealthOk: () => this.isHealthOk,
    countCheck: () => {},
    reportViolation: (words) => void this.violations.push(words),
  });

  command(path: string, payload: string): void {
    const message = { topic: `sonic2mqtt/property/a/${path}`, payload, isFlagged: false };
    this.judge.delivered({ ...message, publishedAt: this.now, at: this.now });
  }

  request(isOn: boolean): SeenRequest {
    return {
      ...{ origin: '', method: 'PUT', target: '/', operation: 'update_property_settings', number: 1 },
      ...{ params: { property_id: 'a' }, body: JSON.stringify({ auto_shut_off: isOn }) },
    };
  }

  /** The bridge turns the shut-off on or off. */
  turn(isOn: boolean): void {
    this.isOn = isOn;
    this.worldChanges();
    this.judge.processed(this.request(isOn), 200);
  }

  worldChanges(): void {
    const settings = new Map([['a', { auto_shut_off: this.isOn }]]);
    this.judge.worldChanged({ settings } as unknown as Parameters<PauseJudge['worldChanged']>[0]);
  }

  show(state: string): void {
    const [topic, payload] = ['sonic2mqtt/property/a/pause', JSON.stringify({ state })];
    this.#retained.set(topic, payload);
    this.judge.taken(topic, payload);
  }

  /** Lets time pass, and returns the number of violations so far. */
  judgedAfter(minutes: number): number {
    this.now += minutes * minuteMs;
    this.judge.check();
    return this.violations.length;
  }

  /** Starts a pause of an hour, without any fault. */
  pause(): this {
    this.show('none');
    this.command('pause/set', '60');
    this.turn(false);
    this.show('paused');
    return this;
  }
}

describe('a paused shut-off', () => {
  it('may be shown as paused until the end of the pause, and must be shown as off after it', () => {
    const bench = new PauseBench().pause();
    expect(bench.judgedAfter(59)).toBe(0);
    bench.show('failed');
    expect(bench.judgedAfter(600)).toBe(0);
    expect(bench.judge.overdue(15 * minuteMs)).toEqual(['a']);
    bench.turn(true);
    bench.show('none');
    expect(bench.judgedAfter(600)).toBe(0);
    expect(bench.judge.overdue(0)).toEqual([]);
  });

  it('is reported if it is shown as paused after the end', () => {
    expect(new PauseBench().pause().judgedAfter(64)).toBe(1);
  });

  it('may stay off longer if a command has made the pause longer, and the bridge shows that', () => {
    const bench = new PauseBench().pause();
    bench.command('pause/set', '120');
    bench.show('paused');
    expect(bench.judgedAfter(120)).toBe(0);
    expect(bench.judgedAfter(4)).toBe(1);
  });

  it('is reported if no pause is shown while it is off', () => {
    const bench = new PauseBench().pause();
    bench.show('none');
    expect(bench.judgedAfter(3)).toBe(1);
  });

  it('is not judged once a client has turned it on, or has turned it off permanently', () => {
    const bench = new PauseBench().pause();
    bench.isOn = true;
    bench.worldChanges();
    bench.show('none');
    bench.isOn = false;
    bench.worldChanges();
    expect(bench.judgedAfter(600)).toBe(0);
    bench.isOn = true;
    bench.worldChanges();
    bench.command('settings/auto_shut_off/set', 'OFF');
    bench.turn(false);
    expect(bench.judgedAfter(600)).toBe(0);
  });

  it('is not judged while the bridge is not connected', () => {
    const bench = new PauseBench().pause();
    bench.canPublish = false;
    expect(bench.judgedAfter(600)).toBe(0);
  });

  it.each(['damaged', 'none'] as const)(
    'may be lost by a restart that finds its files %s, if health says so until the next one',
    (memory) => {
      const bench = new PauseBench().pause();
      bench.memory = memory;
      bench.judge.runBegan();
      bench.show('none');
      bench.isHealthOk = false;
      expect(bench.judgedAfter(600)).toBe(0);
      bench.judge.runBegan();
      bench.isHealthOk = true;
      expect(bench.judgedAfter(600)).toBe(0);
    },
  );

  it('is reported if it may be lost and health is ok', () => {
    const bench = new PauseBench().pause();
    bench.memory = 'damaged';
    bench.judge.runBegan();
    bench.show('none');
    expect(bench.judgedAfter(3)).toBe(1);
  });

  it('may be turned on by the bridge without a command until the pause is shown as over', () => {
    const bench = new PauseBench();
    expect(bench.judge.mayTurnOn(bench.request(true))).toBe(false);
    bench.pause();
    expect(bench.judge.mayTurnOn(bench.request(true))).toBe(true);
    expect(bench.judge.mayTurnOn(bench.request(false))).toBe(false);
    bench.turn(true);
    bench.show('none');
    bench.judgedAfter(5);
    expect(bench.judge.mayTurnOn(bench.request(true))).toBe(false);
  });
});
