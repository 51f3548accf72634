import { describe, expect, it } from 'vitest';
import type { OperationName } from '../../src/cloud/operations.ts';
import { Simulator } from '../../src/simulator/simulator.ts';
import { Observer } from './observer.ts';
import type { SeenRequest } from './virtualCloud.ts';
import { VirtualTime } from './virtualTime.ts';

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const topic = 'sonic2mqtt/sonic/a/valve/set';

/** An observer and a cloud, without a bridge. The test sends the traffic of a bridge itself. */
class ObserverBench {
  now = 0;
  readonly observer: Observer;

  constructor() {
    const time = new VirtualTime();
    const clock = { now: () => time.now, monotonic: () => time.now, after: time.after.bind(time) };
    const simulator = new Simulator({ clock, quiet: true, properties: 1, signals: 1, sonics: 1 });
    const options = {
      ...{
        requestTimeoutMs: 10 * secondMs,
        maxConcurrency: 4,
        password: 'secret',
        maxRequestsPerMinute: 300,
      },
      ...{
        isSelected: () => true,
        canRemember: () => true,
        isTruthful: () => true,
        isOnBroker: () => true,
      },
      mayChangeUnasked: () => false,
    };
    this.observer = new Observer(
      options,
      () => this.now,
      () => simulator.world,
      () => {},
    );
    this.observer.broker.linked(true);
  }

  signIn(status: number): void {
    const request: SeenRequest = {
      ...{ origin: '', method: 'POST', target: '/', operation: 'sign_in', params: {}, body: '', number: 1 },
    };
    this.observer.cloud.answered(request, { status, headers: {}, text: '{}' });
  }

  /** Asks for a list, and answers it. */
  ask(operation: OperationName, status = 200, retryAfter = ''): void {
    const request: SeenRequest = {
      ...{ origin: '', method: 'GET', target: '/', operation, params: {}, body: '', number: 1 },
    };
    this.observer.asked(request);
    this.observer.cloud.answered(request, { status, headers: { 'retry-after': retryAfter }, text: '{}' });
  }

  command(payload: string): void {
    this.observer.addOrder({ topic, payload, isCommand: true, asksFor: [] });
    this.observer.broker.delivered(topic, payload, false, this.now);
  }

  outcome(): void {
    const event = JSON.stringify({ event: 'command', topic, status: 'ok', reason: null });
    this.observer.broker.handedOver('sonic2mqtt/bridge/event', event, false);
  }

  /** Lets time pass until all outcomes are due. Returns the number of violations. */
  countViolationsLater(): number {
    this.now += minuteMs;
    this.observer.checkOutcomes();
    return this.observer.violations.length;
  }
}

describe('a command has one outcome', () => {
  it.each([
    ['none', 0, 1],
    ['one', 1, 0],
    ['two', 2, 1],
  ])('and %s is reported', (_words, outcomes, found) => {
    const bench = new ObserverBench();
    bench.command('CLOSE');
    for (let outcome = 0; outcome < outcomes; outcome++) bench.outcome();
    expect(bench.countViolationsLater()).toBe(found);
  });
});

describe('sign-ins', () => {
  it.each<[string, number, number[], boolean]>([
    ['a rejected password, three times at once', 401, [0, 1, 2], true],
    ['a rejected password, four times in a minute', 401, [0, 1, 2, 3], false],
    ['a rejected password, seven times in an hour', 401, [0, 1, 2, 100, 200, 300, 400], false],
    ['a rejected password, once an hour', 401, [0, 3_600, 7_200, 10_800], true],
    ['a rejected password, twice in a later hour', 401, [0, 3_700, 5_000], false],
    ['a failure, by a back-off', 503, [0, 2, 6, 14, 30, 62, 182, 302, 422], true],
    ['a failure, each five seconds', 503, [...Array(10).keys()].map((index) => 5 * index), false],
    ['a limit, each twenty seconds', 429, [...Array(40).keys()].map((index) => 20 * index), false],
  ])('after %s', (_words, status, times, isKept) => {
    const bench = new ObserverBench();
    for (const seconds of times) {
      bench.now = seconds * secondMs;
      bench.signIn(status);
    }
    expect(bench.observer.violations.length === 0).toBe(isKept);
  });

  it('start to count again once one has worked', () => {
    const bench = new ObserverBench();
    for (const status of [401, 401, 401, 200, 401, 401, 401]) bench.signIn(status);
    bench.now = 2 * hourMs;
    bench.signIn(401);
    expect(bench.observer.violations).toEqual([]);
  });
});

describe('requests', () => {
  it.each<[string, OperationName, number, boolean]>([
    ['300 in a minute', 'list_signals', 300, true],
    ['301 in a minute', 'list_signals', 301, false],
    ['301 for a vital list in a minute', 'list_incidents', 301, true],
  ])('keep to the budget: %s', (_words, operation, count, isKept) => {
    const bench = new ObserverBench();
    for (let index = 0; index < count; index++) bench.ask(operation);
    expect(bench.observer.violations.length === 0).toBe(isKept);
  });

  it.each<[string, OperationName, string, number, boolean]>([
    ['at once, because it waited for its turn', 'list_signals', '40', 5, true],
    ['too early', 'list_signals', '40', 20, false],
    ['in time', 'list_signals', '40', 41, true],
    ['after ten minutes for a vital list', 'list_incidents', '3600', 601, true],
  ])('are sent after a limit: %s', (_words, operation, retryAfter, seconds, isKept) => {
    const bench = new ObserverBench();
    bench.ask(operation, 429, retryAfter);
    bench.now += seconds * secondMs;
    bench.ask(operation);
    expect(bench.observer.violations.length === 0).toBe(isKept);
  });
});
