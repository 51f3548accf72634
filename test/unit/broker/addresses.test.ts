import { describe, expect, it } from 'vitest';
import { Address, type ConnectResult } from '../../../src/broker/addresses.ts';

/** The versions that are spoken in attempts that go so, one after the other, and in the one after them. */
function versionsOf(receptions: readonly ConnectResult[], version: 4 | 5 = 5): (4 | 5)[] {
  const address = new Address('mqtt://localhost', version);
  const spoken = receptions.map((reception) => {
    const { version: now } = address;
    address.hasEnded(reception);
    return now;
  });
  return [...spoken, address.version];
}

describe('an address', () => {
  it('that hangs up on MQTT 5 before and after it answers 3.1.1 is spoken to in that, until the end', () => {
    const old = ['hungUp', 'welcomed', 'hungUp', 'welcomed'] as const;
    expect(versionsOf(old)).toEqual([5, 4, 5, 4, 5]);
  });

  it('that answers 3.1.1 is asked for MQTT 5 once more, and then again at each return', () => {
    expect(versionsOf(['hungUp', 'welcomed', 'welcomed', 'hungUp', 'hungUp'])).toEqual([5, 4, 5, 5, 5, 5]);
  });

  it.each(['hungUp', 'failed'] as const)('that has %s with both is away, whatever it speaks', (away) => {
    expect(versionsOf(['hungUp', away, 'hungUp', away])).toEqual([5, 4, 5, 4, 5]);
  });

  it('that is away when it is asked once more is asked from the start', () => {
    const receptions = ['hungUp', 'welcomed', 'failed', 'hungUp', 'welcomed', 'welcomed'] as const;
    expect(versionsOf(receptions)).toEqual([5, 4, 5, 5, 4, 5, 5]);
  });

  it('that cannot be reached says nothing of what it speaks', () => {
    expect(versionsOf(['failed', 'failed', 'failed'])).toEqual([5, 5, 5, 5]);
  });

  it('that says it speaks no MQTT 5 is not asked for it again before a connection has come of it, even if it did', () => {
    expect(versionsOf(['unspoken', 'hungUp', 'failed', 'hungUp', 'welcomed'])).toEqual([5, 4, 4, 4, 4, 5]);
    expect(versionsOf(['welcomed', 'unspoken', 'hungUp'])).toEqual([5, 5, 4, 4]);
  });

  it('is asked for MQTT 5 at each return: the broker that said it speaks none may have been upgraded', () => {
    expect(versionsOf(['unspoken', 'welcomed', 'unspoken', 'welcomed', 'failed', 'welcomed'])).toEqual([
      5, 4, 5, 4, 5, 5, 5,
    ]);
  });

  it('at which MQTT 5 was spoken is doubted after minutes of nothing but hang-ups: it may be an old broker by now', () => {
    const away = Array<ConnectResult>(19).fill('hungUp');
    const spoken = versionsOf(['welcomed', ...away, 'hungUp', 'welcomed', 'hungUp', 'welcomed', 'hungUp']);
    expect(spoken).toEqual([5, ...away.map(() => 5), 5, 4, 5, 4, 5, 4]);
  });

  it('at which MQTT 5 was spoken is not doubted for fewer hang-ups, however often they come', () => {
    const away = Array<ConnectResult>(19).fill('hungUp');
    const receptions = ['welcomed', ...away, 'failed', ...away, 'welcomed', ...away] as const;
    expect(new Set(versionsOf(receptions))).toEqual(new Set([5]));
  });

  it('at which MQTT 5 was spoken is spoken to in it again when its broker comes back after an hour', () => {
    const away = Array<ConnectResult>(121).fill('hungUp');
    const back = ['welcomed', ...away, 'welcomed', 'hungUp'] as const;
    expect(versionsOf(back).slice(-3)).toEqual([5, 5, 5]);
    const backForATrial = ['welcomed', ...away, 'hungUp', 'welcomed', 'welcomed', 'hungUp'] as const;
    expect(versionsOf(backForATrial).slice(-4)).toEqual([4, 5, 5, 5]);
  });

  it('of which 3.1.1 is wanted is spoken to in nothing else', () => {
    expect(versionsOf(['hungUp', 'welcomed', 'hungUp', 'failed'], 4)).toEqual([4, 4, 4, 4, 4]);
  });

  it('is asked at once, and for no more than that, only while its version is being found out', () => {
    const address = new Address('mqtt://localhost', 5);
    const steps = (['hungUp', 'welcomed', 'hungUp', 'welcomed'] as const).map((reception) => {
      const { isTrial } = address;
      return [isTrial, address.hasEnded(reception)];
    });
    expect(steps).toEqual([
      [false, false],
      [true, true],
      [false, true],
      [false, false],
    ]);
  });
});
