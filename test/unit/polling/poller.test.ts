import { EventEmitter } from 'node:events';
import { CloudClient } from '../../../src/cloud/client.ts';
import { operationNames } from '../../../src/cloud/operations.ts';
import type { RouteOverrides } from '../../../src/cloud/request.ts';
import { byPoll, type PollName, pollNames } from '../../../src/model/polls.ts';
import { Poller } from '../../../src/polling/poller.ts';
import { newKept } from '../../../src/state/sections.ts';
import type { StateFile } from '../../../src/state/stateFile.ts';
import { Store } from '../../../src/store/store.ts';
import { VirtualCloud } from '../../simulation/virtualCloud.ts';
import { ProcessClock, VirtualTime } from '../../simulation/virtualTime.ts';
import { logLines } from '../../support/logLines.ts';
import { msOf, tellStories } from '../../support/script.ts';

const ignored = () => {};

/** Records of a list: `ID`, `ID@HUB` and `ID=WORD`, or JSON. */
function recordIn(name: string, word: string): object {
  if (word.startsWith('{')) return JSON.parse(word);
  const [, id = '', hub, state] = /^([^@=]+)(?:@([^=]+))?(?:=(.+))?$/.exec(word) ?? [];
  if (name === 'incidents')
    return {
      id,
      type: 'long_flow_alert',
      open: state !== 'over',
      state: state ?? 'contacting',
      sonic_id: hub,
    };
  const radio = state === 'unlinked' ? 'disconnected' : 'connected';
  if (!name.startsWith('sonics')) return { id };
  return { id, signal_id: hub, radio_connection: radio, valve_state: state === 'closed' ? 'closed' : 'open' };
}

/** What is read of a sonic where nothing else is said. */
const figures: Readonly<Record<string, object>> = {
  daily_usage: { daily: [] },
  pressure_tests: { by_day: {} },
  telemetry: { pressure: 3_000 },
  settings: { timezone: 'UTC' },
  notifications: { high_humidity: true },
};

/** A poller with hourly schedules, and a cloud that says what it is told to. Its clock begins at noon, or later. */
class Bench {
  readonly time = new VirtualTime();
  readonly clock: ProcessClock;
  readonly store: Store;
  readonly client: CloudClient;
  readonly poller: Poller;
  readonly asked: string[] = [];
  readonly events: string[] = [];
  readonly lists = new Map<string, object[]>();
  /** By the end of a path: a status, `hang`, JSON, or an incident. */
  readonly said = new Map<string, string>();
  slow = /^never/;
  travel = 0;
  inFlight = 0;
  mostInFlight = 0;

  constructor(settings: readonly string[]) {
    const given = Object.fromEntries(settings.map((setting) => setting.split('=')));
    const begins = Date.parse('2026-11-20T12:00:00Z') + (msOf(given.later ?? '0s') ?? 0);
    this.clock = new ProcessClock(this.time, () => begins + this.time.now);
    const { clock } = this;
    const flies = (change: number) => (request: { readonly target: string }) => {
      if (!/(daily_usage|pressure_tests|telemetry)(\?.*)?$/.test(request.target)) return;
      this.inFlight += change;
      this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    };
    const tap = { processed: ignored, answered: ignored, truncated: ignored };
    const strike = ({ method, target }: { method: string; target: string }) => this.answer(method, target);
    const dispatcher = new VirtualCloud(
      undefined as never,
      clock,
      () => this.travel,
      strike,
      { ...tap, sent: flies(1), ended: flies(-1) },
      () => clock.now(),
    );
    const lines = logLines('error');
    const routes: RouteOverrides = given.off ? { [given.off]: null } : {};
    this.client = new CloudClient({
      ...{ baseUrl: 'https://cloud.example', email: 'me@example.com', password: async () => 'secret' },
      ...{ requestTimeoutMs: 5_000, maxConcurrency: 4, maxRequestsPerMinute: 10_000, routes },
      ...{ clock, random: () => 0, dispatcher, log: lines.log, secrets: lines.secrets },
      memory: { load: () => ({ token: 'kept', since: begins }), save: ignored },
    });
    this.client.start(new AbortController().signal);
    this.store = new Store({ selection: given.filter?.split(',').filter(Boolean) ?? [], clock });
    this.store.on('device', ({ event, record }) => this.events.push(`${event} ${record.id}`));
    this.store.on('incident', ({ event, record }) =>
      this.events.push(`${event} ${record.id} ${record.state}`),
    );
    const state = Object.assign(new EventEmitter(), { kept: newKept(), problem: null });
    this.poller = new Poller({
      ...{ client: this.client, store: this.store, state: state as unknown as StateFile, clock },
      ...{ schedules: byPoll(() => ({ kind: 'every', everyMs: 3_600_000 }) as const), timezone: 'UTC' },
      ...{ staleAfterMs: 300_000, requestTimeoutMs: 5_000, random: () => 0.5, log: lines.log },
    });
  }

  answer(method: string, target: string) {
    const [path = '', query = ''] = target.split('?');
    const short = path.replace(/^.*\/(ape\/v1|customer_app|iot-core)\//, '').replace(/^customer_app\//, '');
    const month = /month=(\d+)/.exec(query)?.[1];
    this.asked.push(`${method === 'GET' ? '' : `${method} `}${short}${month ? ` ${month}` : ''}`);
    // The link takes 5 ms and 60 times this.
    this.travel = this.slow.test(short) ? 60 : 0;
    const [, said] = [...this.said].find(([end]) => `/${short}`.endsWith(end)) ?? [];
    if (said === 'hang') return 'hang-before' as const;
    const status = Number(said ?? 200);
    const headers = { 'content-type': 'application/json' };
    if (said !== undefined && status > 0) return { status, headers, text: '{"message":"no"}' };
    const [last = '', kind] = short.split('/').reverse();
    const data = this.lists.get(short) ?? [];
    const one = { page_number: 1, page_size: 100, total_entries: data.length, total_pages: 1 };
    const usual = figures[last] ?? { data, ...one };
    const json = kind === 'incidents' ? recordIn(kind, said ?? last) : usual;
    return { status: 200, headers, text: said?.startsWith('{') ? said : JSON.stringify(json) };
  }

  /** The polls that did not read all, or nothing. */
  get polls(): string {
    const told = pollNames.flatMap((poll) => {
      const { failure, lastSuccessAt } = this.poller.statuses.records[poll];
      if (failure)
        return [`${poll} ${failure.kind}${lastSuccessAt === null ? ', never read' : ''}: ${failure.message}`];
      return lastSuccessAt === null ? [`${poll} never read`] : [];
    });
    return told.join(', ') || 'all read';
  }

  get sonics(): string {
    const told = this.store.ids('sonic').map((id) => {
      const { valve, propertyId, reach } = this.store.sonicView(id) ?? {};
      return `${id} ${valve} ${reach}${propertyId ? ` at ${propertyId}` : ''}`;
    });
    return told.join(', ') || 'no sonics';
  }

  /** The usage, the pressure tests and the measurements of each sonic. */
  get figures(): string {
    const told = this.store.ids('sonic').map((id) => {
      const { usage, pressureTests, telemetry } = this.store.sonicView(id) ?? {};
      const of = (name: string, figure: unknown, words: string) =>
        figure === undefined ? `${name} unread` : figure === null ? `no ${name}` : words;
      const litres = of('usage', usage, `${usage?.todayL} l today, ${usage?.yesterdayL} yesterday`);
      const tests = of('tests', pressureTests, `${pressureTests?.todayCount} tests`);
      return `${id} ${litres}, ${tests}, ${of('telemetry', telemetry, `${telemetry?.pressure} mbar`)}`;
    });
    return told.join('; ');
  }
}

tellStories<Bench>(import.meta.url, {
  open: (settings) => new Bench(settings),
  pass: (bench, ms) => bench.time.runUntil(bench.time.now + ms),
  verbs: {
    start: ({ poller }) => void poller.start().then(() => poller.startDetails()),
    stop: ({ poller }) => void poller.stop(),
    refresh: ({ poller }) => poller.refresh(),
    poll: ({ poller }, name) => void poller.runNow(name as PollName),
    list: (bench, name = '', ...words) =>
      void bench.lists.set(
        name,
        words.map((word) => recordIn(name, word)),
      ),
    /** What requests are answered whose path ends so; without words, as usual. */
    say: (bench, end = '', ...words) =>
      void (words.length > 0 ? bench.said.set(end, words.join(' ')) : bench.said.delete(end)),
    /** Requests that match are answered after an hour or, without a pattern, none. */
    slow: (bench, pattern = '^never') => {
      bench.slow = new RegExp(pattern);
    },
  },
  fact: (name) => (bench) => {
    const { store, client, poller } = bench;
    if (name === 'asked') return [...bench.asked];
    if (name === 'events') return [...bench.events];
    if (name === 'polls') return bench.polls;
    if (name === 'sonics') return bench.sonics;
    if (name === 'hub') return `hub at ${store.propertyOf('signal', 'hub')}`;
    if (name === 'settings') {
      const of = (id: string) => store.propertyView(id);
      const told = store.ids('property').map((id) => {
        return `${id} ${of(id)?.settings?.timezone ?? 'unknown'}, ${of(id)?.notifications ? '' : 'no '}notifications`;
      });
      return told.join('; ');
    }
    if (name === 'figures') return bench.figures;
    if (name === 'incidents')
      return `incidents ${store.ids('incident').join(' ') || 'none'}${store.incidents.areFresh ? '' : ', not all known'}`;
    if (name === 'complete') return store.areListsComplete ? 'lists complete' : 'lists incomplete';
    if (name === 'flight') return `at most ${bench.mostInFlight} at a time`;
    if (name === 'refused')
      return `refused ${Object.entries(poller.refused).flatMap(([of, ids]) => [...ids].map((id) => `${of} of ${id}`))}`;
    const away = operationNames.filter((each) => client.operationState(each) !== 'available');
    return `offers all but ${away.join(', ') || 'nothing'}`;
  },
});
