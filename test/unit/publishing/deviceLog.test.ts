import { expect, it } from 'vitest';
import type { SonicView } from '../../../src/model/devices.ts';
import type { Movement } from '../../../src/model/valveCommand.ts';
import { DeviceLog } from '../../../src/publishing/deviceLog.ts';
import { logLines } from '../../support/logLines.ts';
import { aSonic, sonicView } from '../../support/views.ts';

type Seen = SonicView | null | 'rejected';

/** The lines about a valve that is seen like this, one after the other; null: not read by this run. */
function linesOf(views: readonly Seen[]): readonly string[] {
  const lines = logLines();
  const deviceLog = new DeviceLog(lines.log);
  for (const view of views) {
    if (view === 'rejected') deviceLog.note(sonicView(), '"Kitchen"', true);
    else if (view) deviceLog.note(view, '"Kitchen"');
    else deviceLog.noteUnread('sonic', aSonic().id, '"Kitchen"', 'not read');
    deviceLog.write();
  }
  return lines.messages;
}

const state = (valve_state: string) => sonicView({ sonic: aSonic({ valve_state } as never) });
const unread = null;
const hubUnread = sonicView({ signal: 'unknown' });
const battery = (word: string | null) => sonicView({ sonic: aSonic({ battery: word } as never) });
const moved = (movement: Partial<Movement> | null) => {
  const view = sonicView();
  const whole = movement && {
    ...{ valve: 'closed', at: '2026-03-02T09:00:00Z', by: null, topic: null, incident_id: null },
    ...movement,
  };
  return { ...view, valveRecord: { ...view.valveRecord, movement: whole } } as SonicView;
};

it.each<[news: string, views: readonly Seen[], lines: readonly string[]]>([
  [
    'a valve that is read long after the start, once',
    [unread, unread, sonicView()],
    ['offline: not read', 'online again'],
  ],
  [
    'a valve that is read as offline after that',
    [unread, sonicView({ reach: 'offline' })],
    ['offline: not read', 'offline: it has no connection to its hub'],
  ],
  [
    'no movement before the first reading',
    [unread, moved({ by: 'by_hand' })],
    ['offline: not read', 'online again'],
  ],
  [
    'a hub that is read later',
    [hubUnread, hubUnread, sonicView()],
    ['offline: its hub was not read', 'online again'],
  ],
  ['no hub that is missed for a while', [sonicView(), hubUnread, sonicView()], []],
  [
    'a valve of which the broker rejects a value',
    [sonicView(), 'rejected', 'rejected', sonicView()],
    ['offline: the MQTT broker rejects one of its values', 'online again'],
  ],
  ['a fault, once', [state('faulty'), state('faulty')], ['the cloud reports a fault of the valve']],
  [
    'the end of a fault',
    [state('faulty'), state('open')],
    ['the cloud reports a fault of the valve', 'no fault any more'],
  ],
  ['a low battery, once', [battery('high'), battery('low'), battery('low')], ['battery low']],
  [
    'a battery that is low again',
    [battery('low'), battery('high'), battery('low')],
    ['battery low', 'battery low'],
  ],
  ['no battery that is not known', [battery('high'), battery(null), battery('good')], []],
  ['a valve closed by hand', [moved(null), moved({ by: 'by_hand' })], ['closed by hand']],
  [
    'a valve closed by the shut-off',
    [moved(null), moved({ by: 'automatic_shut_off' })],
    ['closed by the automatic shut-off'],
  ],
  [
    'a valve opened elsewhere',
    [moved(null), moved({ valve: 'open', by: 'elsewhere' })],
    ['opened in the vendor’s app, or for an unknown reason'],
  ],
  [
    'a second movement of a kind',
    [moved({ by: 'by_hand' }), moved({ by: 'by_hand', at: '2026-03-02T10:00:00Z' })],
    ['closed by hand'],
  ],
  ['a mover that is known later', [moved({ by: 'elsewhere' }), moved({ by: 'by_hand' })], ['closed by hand']],
  ['no command, which has a line of its own', [moved(null), moved({ by: 'command' })], []],
  ['no movement of an earlier run', [moved({ by: 'by_hand' }), moved({ by: 'by_hand' })], []],
])('logs %s', (_news, views, lines) => {
  expect(linesOf(views)).toEqual(lines.map((line) => `info: Valve "Kitchen": ${line}`));
});

it('has one line for more than five valves with the same news', () => {
  const lines = logLines();
  const deviceLog = new DeviceLog(lines.log);
  const names = Array.from({ length: 6 }, (_, index) => `"Flat ${index + 1}"`);
  names.forEach((name, index) => {
    deviceLog.note(sonicView({ sonic: aSonic({ id: `sonic-${index}`, battery: 'low' }) }), name);
  });
  deviceLog.write();
  expect(lines.messages).toEqual([
    expect.stringMatching(/^info: 6 devices \(Valve "Flat 1".*\): battery low$/i),
  ]);
});
