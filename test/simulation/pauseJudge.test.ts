import { describe, expect, it } from 'vitest';
import { PauseJudge } from '../oracle/pauseJudge.ts';
import type { SeenRequest } from './virtualCloud.ts';

const minuteMs = 60_000;

/**
 * A cloud with one property, a broker and the judge, without a bridge. The test publishes true and false
 * messages in place of a bridge.
 */
class Stage {
  now = 0;
  isOn = true;
  canPublish = true;
  canRemember = true;
  readonly violations: string[] = [];
  readonly #retained = new Map<string, string>();
  readonly judge = new PauseJudge(this.#retained, 'sonic2mqtt', {
    now: () => this.now,
    canPublish: () => this.canPublish,
    isRefused: () => false,
    canRemember: () => this.canRemember,
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

describe('what was paused', () => {
  it('may be paused until its end, and must be said to be off from then on', () => {
    const stage = new Stage().pause();
    expect(stage.judgedAfter(59)).toBe(0);
    stage.show('failed');
    expect(stage.judgedAfter(600)).toBe(0);
    expect(stage.judge.overdue(15 * minuteMs)).toEqual(['a']);
    stage.turn(true);
    stage.show('none');
    expect(stage.judgedAfter(600)).toBe(0);
    expect(stage.judge.overdue(0)).toEqual([]);
  });

  it('is found if it is shown as paused after its end', () => {
    expect(new Stage().pause().judgedAfter(64)).toBe(1);
  });

  it('is found if no pause is shown while it is off', () => {
    const stage = new Stage().pause();
    stage.show('none');
    expect(stage.judgedAfter(3)).toBe(1);
  });

  it('is no debt once somebody has turned it on, or wants it off for good', () => {
    const stage = new Stage().pause();
    stage.isOn = true;
    stage.worldChanges();
    stage.show('none');
    stage.isOn = false;
    stage.worldChanges();
    expect(stage.judgedAfter(600)).toBe(0);
    stage.isOn = true;
    stage.worldChanges();
    stage.command('settings/auto_shut_off/set', 'OFF');
    stage.turn(false);
    expect(stage.judgedAfter(600)).toBe(0);
  });

  it('is excused while the bridge is not heard, and after a restart without its disk', () => {
    const stage = new Stage().pause();
    stage.canPublish = false;
    expect(stage.judgedAfter(600)).toBe(0);
    stage.canRemember = false;
    stage.judge.runBegan();
    stage.canPublish = true;
    stage.show('none');
    expect(stage.judgedAfter(600)).toBe(0);
  });

  it('may be turned on by the bridge alone until it is shown as over, and nothing else may', () => {
    const stage = new Stage();
    expect(stage.judge.mayTurnOn(stage.request(true))).toBe(false);
    stage.pause();
    expect(stage.judge.mayTurnOn(stage.request(true))).toBe(true);
    expect(stage.judge.mayTurnOn(stage.request(false))).toBe(false);
    stage.turn(true);
    stage.show('none');
    stage.judgedAfter(5);
    expect(stage.judge.mayTurnOn(stage.request(true))).toBe(false);
  });
});
