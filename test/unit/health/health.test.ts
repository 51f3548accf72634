import { describe, expect, it } from 'vitest';
import {
  evaluateHealth,
  type HealthInputs,
  healthFingerprint,
  healthPayload,
} from '../../../src/health/health.ts';
import { healthProblem } from '../../../src/health/problem.ts';
import { byPoll } from '../../../src/model/polls.ts';
import { incompleteKey } from '../../../src/polling/pollProblem.ts';
import {
  cloudAnsweredAt,
  cloudFreshUntil,
  neverPolled,
  type PollStatus,
} from '../../../src/polling/pollStatus.ts';

const good: PollStatus = { ...neverPolled, lastSuccessAt: 1_000, freshUntil: 5_000, answeredAt: 900 };
const bad = (kind: NonNullable<PollStatus['failure']>['kind'], message = `${kind} in words`): PollStatus => ({
  ...good,
  failure: { kind, message, key: message },
  consecutiveFailures: 1,
});
const well: HealthInputs = {
  polls: byPoll(() => good),
  isFirstReading: false,
  overload: null,
  overdue: [],
  silentValves: [],
  areAllSilent: false,
  rejection: null,
  limitedUntil: null,
  problems: [],
};
const payload = (inputs: HealthInputs) => healthPayload(inputs, evaluateHealth(inputs));
const fingerprint = (inputs: HealthInputs) => healthFingerprint(inputs, evaluateHealth(inputs));
const withPolls = (polls: Partial<HealthInputs['polls']>): HealthInputs => ({
  ...well,
  polls: { ...well.polls, ...polls },
});

describe('health', () => {
  it('is ok when everything was read', () => {
    expect(evaluateHealth(well)).toEqual({
      status: 'ok',
      reason: null,
      cloudReason: null,
      problems: [],
      unready: { cloud: null, broker: null },
    });
  });

  it('is degraded by another problem, which is no reason of the cloud', () => {
    const problems = [healthProblem('broker', 'degraded', 'No connection to the MQTT broker: refused')];
    expect(evaluateHealth({ ...well, problems })).toMatchObject({
      status: 'degraded',
      reason: 'No connection to the MQTT broker: refused',
      cloudReason: null,
    });
    const offline = { sonics: bad('unavailable', '503'), incidents: bad('unavailable', '503') };
    expect(evaluateHealth({ ...withPolls(offline), problems })).toMatchObject({
      status: 'cloud_unreachable',
      reason: 'No data from the cloud: 503. Retrying. No connection to the MQTT broker: refused',
      cloudReason: 'No data from the cloud: 503. Retrying',
    });
  });

  it('is degraded by one failing poll, and names its data', () => {
    expect(evaluateHealth(withPolls({ signals: bad('unavailable') }))).toMatchObject({
      status: 'degraded',
      reason: 'Cannot read hubs: unavailable in words. Retrying',
    });
    const incomplete = withPolls({ sonics: bad('incomplete', '2 of 3 valves: no answer') });
    expect(evaluateHealth(incomplete)).toMatchObject({
      status: 'degraded',
      reason: 'Could not read all valves: 2 of 3 valves: no answer. Retrying',
    });
  });

  it('has the reason of each list that is incomplete, and one for all that fail by the same error', () => {
    const lacking = (message: string): PollStatus => ({
      ...good,
      failure: { kind: 'incomplete', message, key: incompleteKey },
    });
    const lists = { sonics: lacking('3 records read, 4 announced'), incidents: lacking('the list changed') };
    const { reason, problems } = evaluateHealth(withPolls(lists));
    expect(reason).toBe(
      'Could not read all valves: 3 records read, 4 announced. Retrying. Could not read all incidents: the list changed. Retrying',
    );
    expect(new Set(problems.map(({ key }) => key)).size).toBe(2);
    const cutOff = bad('incomplete', 'page 2 could not be read: no answer');
    expect(evaluateHealth(withPolls({ sonics: cutOff, incidents: cutOff })).reason).toBe(
      'Could not read all valves, incidents: page 2 could not be read: no answer. Retrying',
    );
  });

  it('is degraded, and the cloud not ready, while vital lists wait, fail for long, or measurements have stopped', () => {
    const waiting =
      'No new data for too long: valves, incidents. The requests wait. A leak or a moved valve may not be shown';
    expect(evaluateHealth({ ...well, overdue: ['sonics', 'incidents'] })).toMatchObject({
      status: 'degraded',
      reason: waiting,
      unready: { cloud: waiting, broker: null },
    });
    const failing = withPolls({ incidents: bad('unreadable') });
    expect(evaluateHealth(failing).unready.cloud).toBeNull();
    const reason = 'Cannot read incidents: unreadable in words. Retrying';
    expect(evaluateHealth({ ...failing, overdue: ['incidents'] })).toMatchObject({
      reason,
      unready: { cloud: reason },
    });
    const silent = evaluateHealth({ ...well, silentValves: ['"Kitchen"', '"Bath"'], areAllSilent: true });
    expect(silent).toMatchObject({ status: 'degraded', unready: { cloud: silent.reason } });
    expect(silent.reason).toMatch(/^No new measurements from "Kitchen", "Bath"\. Flow/);
  });

  it('is degraded by some valves without measurements, and the cloud is ready all the same', () => {
    const some = evaluateHealth({ ...well, silentValves: ['"Kitchen"'] });
    expect(some).toMatchObject({ status: 'degraded', unready: { cloud: null } });
    expect(some.reason).toMatch(/^No new measurements from "Kitchen"\. /);
  });

  it('is degraded, and the broker not ready, by a problem that says so', () => {
    const problems = [
      healthProblem('broker', 'degraded', 'The MQTT broker rejects messages', 'key', 'broker'),
    ];
    expect(evaluateHealth({ ...well, problems })).toMatchObject({
      status: 'degraded',
      cloudReason: null,
      unready: { cloud: null, broker: 'The MQTT broker rejects messages' },
    });
  });

  it('says of an unreachable cloud only that', () => {
    const both = withPolls({ sonics: bad('unavailable'), incidents: bad('unavailable') });
    const { reason } = evaluateHealth({
      ...both,
      overdue: ['sonics', 'incidents'],
      silentValves: ['Kitchen'],
    });
    expect(reason).toBe('No data from the cloud: unavailable in words. Retrying');
  });

  it('has one text for one failure of several polls', () => {
    const inputs = withPolls({ signals: bad('forbidden', 'no'), telemetry: bad('forbidden', 'no') });
    expect(evaluateHealth(inputs)).toMatchObject({ reason: 'Cannot read hubs, measurements: no' });
  });

  it('is cloud_unreachable only when neither valves nor incidents can be read', () => {
    expect(evaluateHealth(withPolls({ sonics: bad('unavailable') })).status).toBe('degraded');
    const both = withPolls({ sonics: bad('unavailable'), incidents: bad('unavailable') });
    expect(evaluateHealth(both)).toMatchObject({
      status: 'cloud_unreachable',
      reason: 'No data from the cloud: unavailable in words. Retrying',
    });
    const afterAnother = withPolls({
      properties: bad('forbidden'),
      sonics: bad('unavailable'),
      incidents: bad('unavailable'),
    });
    expect(evaluateHealth(afterAnother).reason).toBe(
      'No data from the cloud: unavailable in words. Retrying',
    );
    const refused = withPolls({ sonics: bad('unavailable'), incidents: bad('forbidden') });
    expect(evaluateHealth(refused).status).toBe('degraded');
  });

  it('is cloud_unreachable from the first poll on that finds nobody', () => {
    const nothing = byPoll(() => neverPolled);
    const first = { ...bad('unavailable'), lastSuccessAt: null };
    expect(evaluateHealth(withPolls({ ...nothing, properties: first })).status).toBe('cloud_unreachable');
    expect(evaluateHealth(withPolls({ ...nothing, properties: good, sonics: first })).status).toBe(
      'cloud_unreachable',
    );
  });

  it('says that it waits before there was any answer', () => {
    const nothing = byPoll(() => neverPolled);
    expect(evaluateHealth(withPolls(nothing))).toMatchObject({
      status: 'degraded',
      reason: 'Waiting for the cloud to answer',
      cloudReason: null,
    });
  });

  it('is degraded while the account is read for the first time', () => {
    const reading = { ...withPolls({ sonics: neverPolled }), isFirstReading: true };
    expect(evaluateHealth(reading)).toMatchObject({
      status: 'degraded',
      reason: 'Connected, reading the account for the first time',
    });
  });

  it('is degraded, not auth_failed, by one list that the cloud refuses although the session is good', () => {
    expect(evaluateHealth(withPolls({ incidents: bad('auth') })).status).toBe('degraded');
  });

  it('is auth_failed when the credentials are rejected, whatever else is wrong, and says when it is tried again', () => {
    const inputs = {
      ...withPolls({ sonics: bad('unavailable'), incidents: bad('unavailable') }),
      rejection: { reason: 'the cloud rejects the sign-in: locked', nextAttemptAt: 0 },
    };
    expect(evaluateHealth(inputs)).toMatchObject({ status: 'auth_failed' });
    expect(evaluateHealth(inputs).reason).toBe(
      'The cloud rejects the sign-in: locked. Next attempt by 00:00 UTC, or when the password file changes',
    );
    expect(evaluateHealth(withPolls({ sonics: bad('auth'), incidents: bad('auth') })).status).toBe(
      'auth_failed',
    );
  });

  it('shows ten problems at most, information last', () => {
    const information = healthProblem('account', 'ok', 'No hub in Shop');
    const problems = Array.from({ length: 20 }, (_, index) =>
      healthProblem('data', 'degraded', `Oddity ${index}`),
    );
    const { reason } = evaluateHealth({ ...well, problems: [information, ...problems] });
    expect(reason).toMatch(/^Oddity 0\. Oddity 1\. .*Oddity 9$/);
    expect(evaluateHealth({ ...well, problems: [information] })).toMatchObject({
      status: 'ok',
      reason: 'No hub in Shop',
    });
  });

  it('shows each schedule with its own outcome', () => {
    expect(payload(withPolls({ telemetry: bad('rateLimited'), signals: neverPolled }))).toMatchObject({
      schedules: {
        sonics: { last_success: '1970-01-01T00:00:01.000Z', last_error: null, consecutive_failures: 0 },
        telemetry: { last_error: 'rateLimited in words', consecutive_failures: 1 },
        signals: { last_success: null },
      },
      limited_until: null,
    });
  });

  it('is not published again for another success or another failure of the same kind', () => {
    const later = withPolls({ sonics: { ...good, lastSuccessAt: 99_000, freshUntil: 99_000 } });
    expect(fingerprint(later)).toBe(fingerprint(well));
    const failing = withPolls({ sonics: bad('unavailable') });
    const stillFailing = withPolls({ sonics: { ...bad('unavailable'), consecutiveFailures: 7 } });
    expect(fingerprint(stillFailing)).toBe(fingerprint(failing));
    expect(fingerprint(failing)).not.toBe(fingerprint(well));
    const otherWords = withPolls({
      sonics: {
        ...good,
        failure: { kind: 'unavailable', message: 'request 7', key: 'unavailable in words' },
      },
    });
    expect(fingerprint(otherWords)).toBe(fingerprint(failing));
    expect(fingerprint(withPolls({ sonics: bad('unreadable') }))).not.toBe(fingerprint(failing));
  });
});

describe('freshness', () => {
  it('ends with that of the valves: the other lists grow old by themselves', () => {
    expect(cloudFreshUntil(withPolls({ sonics: { ...good, freshUntil: 4_000 } }).polls)).toBe(4_000);
    expect(cloudFreshUntil(withPolls({ incidents: { ...good, freshUntil: 1 } }).polls)).toBe(5_000);
    expect(cloudFreshUntil(withPolls({ telemetry: { ...good, freshUntil: 1 } }).polls)).toBe(5_000);
    expect(cloudFreshUntil(withPolls({ usage: { ...good, freshUntil: 1 } }).polls)).toBe(5_000);
  });

  it('does not depend on what the cloud refuses permanently', () => {
    expect(cloudFreshUntil(withPolls({ sonics: { ...bad('forbidden'), freshUntil: 1 } }).polls)).toBe(5_000);
    expect(
      cloudFreshUntil(withPolls({ sonics: bad('forbidden'), incidents: bad('unsupported') }).polls),
    ).toBe(Number.NEGATIVE_INFINITY);
  });

  const never = Number.NEGATIVE_INFINITY;
  const always = Number.POSITIVE_INFINITY;
  it.each([
    [{}, 900],
    [{ sonics: bad('incomplete') }, 900],
    [{ sonics: bad('unavailable') }, never],
    [{ sonics: bad('auth') }, never],
    [{ sonics: bad('forbidden') }, 900],
    [{ sonics: bad('forbidden'), incidents: bad('unavailable') }, never],
    [{ sonics: bad('forbidden'), incidents: bad('forbidden') }, always],
  ] as const)('is lost only as long as the cloud was there: %j, %s', (changes, expected) => {
    expect(cloudAnsweredAt(withPolls(changes).polls)).toBe(expected);
  });

  it('has not begun before the first poll', () => {
    expect(cloudFreshUntil(withPolls({ sonics: neverPolled }).polls)).toBe(Number.NEGATIVE_INFINITY);
  });
});
