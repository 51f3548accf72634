import type { ValveAction } from '../../../src/model/valve.ts';
import { type AskedCommand, type CommandStatus, failureTexts } from '../../../src/model/valveCommand.ts';
import { newKept } from '../../../src/state/sections.ts';
import { ValveRecords } from '../../../src/store/valveRecords.ts';
import { FakeClock } from '../../support/fakeClock.ts';
import { msOf, tellStories } from '../../support/script.ts';
import { anIncident, aSonic } from '../../support/views.ts';

const id = 'sonic-1';
const topic = 'sonic2mqtt/sonic/sonic-1/valve/set';

/** The records of one valve, and what a restart finds of them. Commands are known by their numbers. */
class Bench {
  readonly clock = new FakeClock();
  readonly kept = newKept();
  sonic = aSonic();
  records = this.opened();
  readAt: number;
  readonly asked: AskedCommand[] = [];

  constructor() {
    this.clock.advance(36_000_000);
    this.readAt = this.clock.monotonic();
  }

  opened(): ValveRecords {
    const shownValve = () => this.sonic;
    return new ValveRecords({ kept: this.kept, clock: this.clock, shownValve, onRecord: () => {} });
  }

  iso(afterMs = '0s'): string {
    return new Date(this.clock.now() + (msOf(afterMs) ?? 0)).toISOString();
  }

  /** A command by its number; the last one without. */
  command(number?: string): AskedCommand {
    const asked = number === undefined ? this.asked.at(-1) : this.asked[Number(number) - 1];
    if (!asked) throw new Error(`there is no command ${number}`);
    return asked;
  }

  ask(action: string): void {
    this.asked.push({ action: action as ValveAction, topic, askedAt: this.iso() });
    this.records.recordCommand(id, this.command(), 'sent', null);
  }

  /** The command may move the valve for so long, or ended without an answer. */
  moves(forMs: string, number?: string): void {
    if (forMs === 'never') this.records.recordCommand(id, this.command(number), 'error', null);
    else this.records.recordAccepted(id, this.command(number), this.clock.monotonic() + (msOf(forMs) ?? 0));
  }
}

tellStories<Bench>(import.meta.url, {
  open: () => new Bench(),
  pass: ({ clock }, ms) => clock.advance(ms),
  verbs: {
    ask: (bench, action = '') => bench.ask(action),
    fly: (bench, number) => bench.records.recordSent(id, bench.command(number)),
    moves: (bench, forMs = '', number) => bench.moves(forMs, number),
    accept: (bench, action = '', forMs = '') => {
      bench.ask(action);
      bench.records.recordSent(id, bench.command());
      bench.moves(forMs);
    },
    /** Reads the valve, or tells of a reading that was sent so long ago. */
    read: (bench, state = '', agoMs = '0s') => {
      const formerReadAt = bench.readAt;
      bench.readAt = bench.clock.monotonic() - (msOf(agoMs) ?? 0);
      bench.sonic = aSonic({ valve_state: state });
      bench.records.record(bench.sonic, bench.readAt, formerReadAt);
    },
    end: (bench, how = '', number) => {
      const ending = {
        waitedMs: how === 'unread' ? null : 90_000,
        movesUntil: bench.clock.monotonic() + 90_000,
      };
      const status = how === 'unread' ? 'not_confirmed' : (how as CommandStatus);
      bench.records.recordCommand(id, bench.command(number), status, null, ending);
    },
    fail: (bench, may = '', reason = 'why') =>
      bench.records.recordCommand(id, bench.command(), 'error', reason, {
        movesUntil: may === 'moved' ? bench.clock.monotonic() : null,
      }),
    refuse: (bench) =>
      bench.records.recordCommand(id, { action: 'close', topic, askedAt: bench.iso() }, 'refused', 'no'),
    restart: (bench) => {
      bench.records = bench.opened();
    },
    dismiss: ({ records }) => records.dismissFailure(id),
    /** The state file is of a clock that was so far ahead. */
    ahead: ({ kept: { valves } }, ms = '') => {
      const record = valves.get(id);
      const failed = record?.failed;
      if (failed) valves.set(id, { ...record, failed: { ...failed, at: failed.at + (msOf(ms) ?? 0) } });
    },
    alert: (bench, type = '', afterMs = '0s') =>
      bench.records.incidentOpened(id, anIncident({ id: 'i-9', type, detected_at: bench.iso(afterMs) })),
    known: ({ kept }) => void kept.announced.set('i-9', true),
    explain: ({ records }, isOn = 'off') =>
      void records.explain(() => (isOn === 'unknown' ? null : isOn === 'on')),
  },
  fact: () => facts,
});

/** What is recorded of the valve, and whether a restart will find the same. */
function facts({ records, kept, clock }: Bench): string {
  const record = records.of(id);
  const { command, failed, stopped, movement } = record;
  const { text, advice, reason } = failed ? failureTexts(failed) : {};
  const { valve, by, topic, incident_id: incident, at } = movement ?? {};
  const isKept = JSON.stringify(kept.valves.get(id) ?? record) === JSON.stringify(record);
  return [
    command
      ? `${command.action} ${command.status}${command.reason ? ` (${command.reason})` : ''}`
      : 'no command',
    failed &&
      `FAILED ${failed.action} ${failed.status} ${failed.waited_s ?? '?'} s, ${text} ${advice}${reason ? ` ${reason}` : ''}`,
    stopped && `stopped ${stopped}`,
    valve &&
      `${valve}${by ? ` by ${by}` : ''}${topic ? ' on its topic' : ''}${incident ? ` (${incident})` : ''}`,
    by && (at ? `${(clock.now() - Date.parse(at)) / 1_000} s ago` : 'at some time'),
    records.awaited.length > 0 && 'awaited',
    !isKept && 'kept otherwise',
  ]
    .filter(Boolean)
    .join(', ');
}
