import { describe, expect, it } from 'vitest';
import type { HealthFacts } from '../../../src/health/checks.ts';
import { healthFingerprint, healthPayload, judge, reasonOf } from '../../../src/health/health.ts';
import { byPoll, type PollName, pollNames } from '../../../src/model/polls.ts';
import type { Telemetry } from '../../../src/model/records.ts';
import { incompleteKey } from '../../../src/polling/pollProblem.ts';
import {
  cloudAnsweredAt,
  cloudFreshUntil,
  neverPolled,
  type PollStatus,
} from '../../../src/polling/pollStatus.ts';
import { Store } from '../../../src/store/store.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { bad, good, healthFacts } from '../../support/healthFacts.ts';
import { aSonic } from '../../support/views.ts';

const { connection } = healthFacts();
const polls = (changes: Partial<Record<PollName, PollStatus>>) => ({ ...byPoll(() => good), ...changes });
const ofVital = (status: PollStatus) => polls({ sonics: status, incidents: status });
const lacking = (message: string): PollStatus => ({
  ...good,
  failure: { kind: 'incomplete', message, key: incompleteKey },
});
const everyPoll = (status: PollStatus) => byPoll(() => status);
const waiting =
  'No new data for too long: valves, incidents. The requests wait. A leak or a moved valve may not be shown';
const offline = 'No data from the cloud: unavailable in words. Retrying';

describe('health', () => {
  it.each<[string, Partial<HealthFacts>, status: string, reason: string | null]>([
    ['everything was read', {}, 'ok', null],
    [
      'nobody has answered yet',
      { polls: everyPoll(neverPolled) },
      'degraded',
      'Waiting for the cloud to answer',
    ],
    [
      'the account is read for the first time',
      { polls: polls({ sonics: neverPolled }), isFirstReading: true },
      'degraded',
      'Connected, reading the account for the first time',
    ],
    [
      'one poll fails: it names its data',
      { polls: polls({ signals: bad('unavailable') }) },
      'degraded',
      'Cannot read hubs: unavailable in words. Retrying',
    ],
    [
      'a list is incomplete',
      { polls: polls({ sonics: bad('incomplete', '2 of 3 valves: no answer') }) },
      'degraded',
      'Could not read all valves: 2 of 3 valves: no answer. Retrying',
    ],
    [
      'two lists are incomplete, each in its own way',
      { polls: polls({ sonics: lacking('3 records read, 4 announced'), incidents: lacking('it changed') }) },
      'degraded',
      'Could not read all valves: 3 records read, 4 announced. Retrying. Could not read all incidents: it changed. Retrying',
    ],
    [
      'two lists are incomplete by the same error',
      { polls: ofVital(bad('incomplete', 'page 2: no answer')) },
      'degraded',
      'Could not read all valves, incidents: page 2: no answer. Retrying',
    ],
    [
      'the cloud refuses two polls',
      { polls: polls({ signals: bad('forbidden', 'no'), telemetry: bad('forbidden', 'no') }) },
      'degraded',
      'Cannot read hubs, measurements: no',
    ],
    [
      'the cloud refuses one list although the session is good',
      { polls: polls({ incidents: bad('auth') }) },
      'degraded',
      'Cannot read incidents: auth in words. Retrying',
    ],
    [
      'neither valves nor incidents can be read',
      { polls: ofVital(bad('unavailable')) },
      'cloud_unreachable',
      offline,
    ],
    [
      'the same, whatever failed before, waits or is silent',
      {
        polls: { ...ofVital(bad('unavailable')), properties: bad('forbidden') },
        overdue: ['sonics', 'incidents'],
      },
      'cloud_unreachable',
      offline,
    ],
    [
      'the first poll finds nobody',
      { polls: { ...everyPoll(neverPolled), properties: { ...bad('unavailable'), lastSuccessAt: null } } },
      'cloud_unreachable',
      offline,
    ],
    [
      'the first vital list finds nobody',
      { polls: { ...everyPoll(neverPolled), properties: good, sonics: bad('unavailable') } },
      'cloud_unreachable',
      offline,
    ],
    [
      'every request is answered 401',
      { polls: ofVital(bad('auth', '401')) },
      'auth_failed',
      'No data from the cloud: 401. Retrying',
    ],
    [
      'the account is rejected, whatever else is wrong: it says when it is tried again',
      {
        polls: ofVital(bad('unavailable')),
        rejection: { reason: 'the cloud rejects the sign-in: locked', nextAttemptAt: 0 },
      },
      'auth_failed',
      'The cloud rejects the sign-in: locked. Next attempt by 00:00 UTC, or when the password file changes',
    ],
    [
      'the cloud is away, and the broker too',
      {
        polls: ofVital(bad('unavailable', '503')),
        connection: { ...connection, isConnected: false, trouble: 'refused' },
      },
      'cloud_unreachable',
      'No data from the cloud: 503. Retrying. No connection to the MQTT broker: refused. Retrying',
    ],
  ])('where %s', (_, changes, status, reason) => {
    const report = judge(healthFacts(changes));
    expect([report.status, reasonOf(report.problems)]).toEqual([status, reason]);
  });

  it.each<[string, Partial<HealthFacts>, 'cloud' | 'broker' | undefined]>([
    [waiting, { overdue: ['sonics', 'incidents'] }, 'cloud'],
    [
      'Cannot read incidents: 422. Retrying',
      { polls: polls({ incidents: bad('rejected', '422') }) },
      undefined,
    ],
    [
      'Cannot read incidents: 422. Retrying',
      { polls: polls({ incidents: bad('rejected', '422') }), overdue: ['incidents'] },
      'cloud',
    ],
    [
      'The measurements cannot be read as often as planned. Set schedules.telemetry to 3m, or increase cloud.max_requests_per_minute',
      { polls: { ...everyPoll(good), telemetry: { ...good, lateStarts: 3, lateEveryMs: 125_000 } } },
      'cloud',
    ],
    [
      'The MQTT broker rejects messages, for example a/b: not allowed. Home Assistant shows old values or none. Check the access list and the limits of the broker',
      { refusal: { topic: 'a/b', reason: 'not allowed' } },
      'broker',
    ],
    [
      'The MQTT broker rejects a subscription: a/b. Messages there have no effect. Check the access list of the broker',
      { connection: { ...connection, refusedSubscriptions: 'a/b' } },
      'broker',
    ],
    [
      'The MQTT broker does not send a/b back. Commands may have no effect. Check the access list of the broker',
      { connection: { ...connection, unreadTopic: 'a/b' } },
      'broker',
    ],
    ['The disk is full', { state: { problem: 'The disk is full' } }, undefined],
    ['The port is in use', { httpProblem: 'The port is in use' }, undefined],
  ])('is degraded: %s', (reason, changes, stops) => {
    const { status, problems } = judge(healthFacts(changes));
    expect({ status, reason: reasonOf(problems) }).toEqual({ status: 'degraded', reason });
    expect(problems.map((problem) => problem.stops)).toEqual([stops]);
  });

  it.each([
    ['one valve', ['kitchen'], undefined],
    ['all valves', ['kitchen', 'bath'], 'cloud'],
  ] as const)('is degraded by %s without measurements, and not ready by all', (_, silent, stops) => {
    const store = new Store({ selection: [], clock: new FakeClock() });
    const records = ['kitchen', 'bath'].map((id) => aSonic({ id, name: id }));
    store.replaceSonics({ records: [], isComplete: true, startedAt: 0 }, { records, isComplete: true });
    for (const { id } of records) {
      const ageMs = silent.some((each) => each === id) ? 600_000 : 0;
      store.setTelemetry(id, { pressure: 3_000, probed_at: 1 } as Telemetry, ageMs, 300_000);
    }
    const problem = judge(healthFacts({ store })).problems.find(({ message }) =>
      /measurements/.test(message),
    );
    expect(problem).toMatchObject({ status: 'degraded' });
    expect(problem?.stops).toBe(stops);
    expect(problem?.message).toMatch(
      new RegExp(`^No new measurements from "${silent.join('", "')}"\\. Flow`),
    );
  });

  it('lists ten problems at most', () => {
    const failing = pollNames.map((poll) => [poll, bad('rejected', `${poll} is odd`)]);
    const state = { problem: 'The disk is full' };
    const oddities = Array.from({ length: 20 }, (_, index) => ({
      level: 'warn' as const,
      message: `Oddity ${index}`,
    }));
    const facts = healthFacts({
      polls: Object.fromEntries(failing),
      state,
      oddities,
      httpProblem: 'no port',
      refusal: { topic: 'a', reason: 'b' },
    });
    const { problems } = judge(facts);
    expect(problems).toHaveLength(11);
    expect(reasonOf(problems)).toMatch(/The disk is full\. no port$/);
    expect(problems.at(-1)?.message).toMatch(/^Unexpected data from the cloud: Oddity 0\. .*Oddity 9$/);
  });
});

describe('bridge/health', () => {
  const payload = (facts: HealthFacts) => healthPayload(facts, judge(facts));
  const fingerprint = (changes: Partial<Record<PollName, PollStatus>>) => {
    const facts = healthFacts({ polls: polls(changes) });
    return healthFingerprint(facts, judge(facts));
  };

  it('shows each schedule with its own outcome', () => {
    const facts = healthFacts({
      polls: polls({ telemetry: bad('rateLimited'), signals: neverPolled }),
      limitedUntil: 0,
    });
    expect(payload(facts)).toMatchObject({
      schedules: {
        sonics: { last_success: '1970-01-01T00:00:01.000Z', last_error: null, consecutive_failures: 0 },
        telemetry: { last_error: 'rateLimited in words', consecutive_failures: 1 },
        signals: { last_success: null },
      },
      limited_until: '1970-01-01T00:00:00.000Z',
    });
  });

  const failing = { sonics: bad('unavailable') };
  it.each<
    [string, Partial<Record<PollName, PollStatus>>, Partial<Record<PollName, PollStatus>>, isSame: boolean]
  >([
    ['another success', { sonics: { ...good, lastSuccessAt: 99_000, freshUntil: 99_000 } }, {}, true],
    [
      'another failure of the same kind',
      { sonics: { ...bad('unavailable'), consecutiveFailures: 7 } },
      failing,
      true,
    ],
    [
      'the same failure in other words',
      {
        sonics: {
          ...good,
          failure: { kind: 'unavailable', message: 'request 7', key: 'unavailable in words' },
        },
      },
      failing,
      true,
    ],
    ['a failure', failing, {}, false],
    ['another failure', { sonics: bad('unreadable') }, failing, false],
  ])('after %s', (_, now, before, isSame) => {
    expect(fingerprint(now) === fingerprint(before)).toBe(isSame);
  });
});

describe('freshness', () => {
  const never = Number.NEGATIVE_INFINITY;
  const always = Number.POSITIVE_INFINITY;

  it.each<[string, Partial<Record<PollName, PollStatus>>, number]>([
    ['ends with that of the valves', { sonics: { ...good, freshUntil: 4_000 } }, 4_000],
    ['not with that of the incidents', { incidents: { ...good, freshUntil: 1 } }, 5_000],
    ['nor of measurements', { telemetry: { ...good, freshUntil: 1 } }, 5_000],
    ['does not depend on what the cloud refuses', { sonics: { ...bad('forbidden'), freshUntil: 1 } }, 5_000],
    ['is none where it refuses both', { sonics: bad('forbidden'), incidents: bad('unsupported') }, never],
    ['has not begun before the first poll', { sonics: neverPolled }, never],
  ])('%s', (_, changes, expected) => {
    expect(cloudFreshUntil(polls(changes))).toBe(expected);
  });

  it.each([
    [{}, 900],
    [{ sonics: bad('incomplete') }, 900],
    [{ sonics: bad('unavailable') }, never],
    [{ sonics: bad('auth') }, never],
    [{ sonics: bad('forbidden') }, 900],
    [{ sonics: bad('forbidden'), incidents: bad('unavailable') }, never],
    [{ sonics: bad('forbidden'), incidents: bad('forbidden') }, always],
  ] as const)('is lost only as long as the cloud was there: %j, %s', (changes, expected) => {
    expect(cloudAnsweredAt(polls(changes))).toBe(expected);
  });
});
