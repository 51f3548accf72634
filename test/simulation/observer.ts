import { isVitalList, type OperationName, operationRow } from '../../src/cloud/operations.ts';
import type { SimulatedAnswer } from '../../src/simulator/answers.ts';
import type { World } from '../../src/simulator/world.ts';
import { moveOf } from '../oracle/moveJudge.ts';
import type { Order, WantedChange } from './orders.ts';
import type { BrokerTap } from './virtualBroker.ts';
import type { CloudTap, SeenRequest } from './virtualCloud.ts';

/** What the observer must know of the bridge, its configuration and its environment. */
export interface ObserverOptions {
  readonly requestTimeoutMs: number;
  readonly maxConcurrency: number;
  readonly maxRequestsPerMinute: number;
  readonly password: string;
  /** Whether the bridge's filter selects the device or incident. */
  readonly isSelected: (id: string) => boolean;
  /**
   * False while the cloud may report closed incidents as open. The bridge then rightly announces them again.
   */
  readonly isTruthful: () => boolean;
  /** Whether the bridge can save on its disk what it announces. */
  readonly canRemember: () => boolean;
  /** Whether the broker shows this incident as one that was announced. */
  readonly isOnBroker: (incidentId: string) => boolean;
  /**
   * Whether the bridge may send this change without a command. It turns a paused shut-off on again by itself.
   */
  readonly mayChangeUnasked: (request: SeenRequest) => boolean;
}

interface AllowedChange {
  readonly change: WantedChange;
  readonly at: number;
  /** The number of the request that made the change. Null before. */
  usedBy: number | null;
}

/** In a flood, twelve commands a second wait for up to ten seconds, with two or three timers each. */
const maxTimers = 400;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/**
 * Judges the traffic of the bridge: its requests to the cloud, its messages to the broker, and its log. It
 * checks each step at once, for example that each change was asked for and that each command has one outcome.
 * The oracle judges the rest: the state that is shown, health, and requests that move water.
 */
export class Observer {
  readonly violations: string[] = [];
  /** How often each kind of check was made. A check that is never made proves nothing. */
  readonly checks = new Map<string, number>();
  readonly #options: ObserverOptions;
  readonly #now: () => number;
  readonly #world: () => World;
  readonly #trace: (line: string) => void;
  readonly #orders: Order[] = [];
  #allowed: AllowedChange[] = [];
  #processedAt = new Map<number, number>();
  readonly #excused = new Set<string>();
  readonly #openedEvents = new Map<string, number>();
  #rejectedSignIns: number[] = [];
  /** When the cloud first and last rejected the password, since a sign-in worked or the run began. */
  #rejected: { readonly firstAt: number; readonly lastAt: number } | null = null;
  /** When sign-ins failed for other reasons, since one worked. */
  #failedSignIns: number[] = [];
  /** When devices and open incidents disappeared from the cloud, by ID. */
  readonly #goneSince = new Map<string, number>();
  /** Incidents that the bridge has read one by one, and that were not open. */
  readonly #reportedClosed = new Set<string>();
  /** Topics of settings that the bridge knows to have read. */
  readonly #settingsRead = new Set<string>();
  /** When the cloud answered the first page of each list in this run, by operation. */
  #crawls = new Map<OperationName, number[]>();
  #logLines: number[] = [];
  /** When requests were sent in the last minute, without those that may exceed the budget. */
  #sentAt: number[] = [];
  /** When the cloud last asked to wait with an operation, and until when, by operation. */
  readonly #pauses = new Map<OperationName, { readonly from: number; readonly until: number }>();
  /**
   * Commands that reached this run over the current connection, and outcomes that it has reported, by topic.
   */
  #delivered = new Map<string, { readonly at: number; count: number }>();
  #outcomes = new Map<string, number>();
  /**
   * Commands of earlier connections of this run whose outcome is still missing, by topic. The bridge may
   * report it later or never.
   */
  readonly #lateOutcomes = new Map<string, number>();
  #isLinked = false;
  #excusedUntil = 0;
  /** When commands reached the bridge. Each command may cause a few lines in the log. */
  #commandsAt: number[] = [];
  runStartedAt = 0;
  requests = 0;

  constructor(
    options: ObserverOptions,
    now: () => number,
    world: () => World,
    trace: (line: string) => void,
  ) {
    this.#options = options;
    this.#now = now;
    this.#world = world;
    this.#trace = trace;
  }

  /** Whether the bridge has announced the incident as opened, or could not know whether it had. */
  isAnnounced(incidentId: string): boolean {
    return this.#openedEvents.has(incidentId) || this.#excused.has(incidentId);
  }

  // ---- events in the cloud and of clients -----------------------------------------------------------------------

  /** A client publishes. The order counts once the broker delivers it. */
  addOrder(order: Order): void {
    this.#orders.push(order);
  }

  /** A new run of the bridge begins. It knows nothing yet. */
  runBegan(): void {
    // Without its disk the bridge does not know which open incidents it has announced. It then announces none
    // of them.
    if (!this.#options.canRemember()) {
      for (const { id, open } of this.#world().incidents.values()) if (open) this.#excused.add(id);
      // "Never again after a restart" presumes a memory: it knows those again that the broker shows.
      for (const id of this.#openedEvents.keys())
        if (!this.#options.isOnBroker(id)) this.#openedEvents.delete(id);
      this.#settingsRead.clear();
    }
    this.runStartedAt = this.#now();
    this.#sentAt = [];
    this.#pauses.clear();
    this.#crawls.clear();
    this.#endSignIns();
    this.#forgetCommands();
  }

  /** Must be called whenever something may have disappeared from the cloud. */
  worldChanged(): void {
    const world = this.#world();
    const present = new Set([...world.properties.ids, ...world.signals.ids, ...world.thingIds]);
    for (const { id, open } of world.incidents.values()) if (open) present.add(id);
    for (const id of this.#known)
      if (!present.has(id) && !this.#goneSince.has(id)) this.#goneSince.set(id, this.#now());
    for (const id of present) this.#goneSince.delete(id);
    this.#known = new Set([...this.#known, ...present]);
  }
  #known = new Set<string>();

  // ---- requests to the cloud -----------------------------------------------------------------------------------

  /** The bridge is about to send a request. It may still fail. */
  asked(request: SeenRequest): void {
    const { operation } = request;
    // The settings are read at the end of a pause, which does not wait.
    const isOfPause = operation === 'read_property_settings' || this.#options.mayChangeUnasked(request);
    const isUrgent = moveOf(request) !== null || isOfPause;
    if (operation === null || isUrgent || isOfSession(operation)) return;
    const now = this.#now();
    this.#count('a request waits as long as the cloud asked');
    const { from, until } = this.#pauses.get(operation) ?? { from: 0, until: 0 };
    // It may have waited for its turn when the cloud asked.
    if (now > from + this.#options.requestTimeoutMs && now < until)
      this.#violated(`${operation} is asked for ${until - now} ms before the cloud allows it`);
    // A vital list is asked for once a minute, whatever the budget.
    if (isVitalList(operation)) return;
    this.#count('requests keep to the budget');
    this.#sentAt = [...this.#sentAt.filter((at) => now - at < minuteMs), now];
    if (this.#sentAt.length <= this.#options.maxRequestsPerMinute) return;
    this.#violated(`${this.#sentAt.length} requests within a minute`);
    this.#sentAt = [];
  }

  readonly cloud: CloudTap = {
    sent: (request) => {
      this.requests += 1;
      this.#trace(`-> ${request.method} ${request.target} ${request.body.slice(0, 80)}`);
      if (isChange(request)) this.#checkAskedFor(request);
    },
    processed: (request) => {
      this.#processedAt.set(request.number, this.#now());
      if (request.method !== 'GET' || request.operation?.startsWith('list_')) this.worldChanged();
    },
    answered: (request, { text, ...rest }) => {
      const answer = { ...rest, text: String(text) };
      this.#trace(`<- ${answer.status} ${request.method} ${request.target}`);
      this.#allowRepeatIfRejected(request, answer.status);
      this.#notePause(request, answer);
      if (request.operation === 'sign_in') this.#checkSignIn(answer);
      if (request.operation?.includes('incident')) this.#noteIncidentAnswer(request, answer);
      if (answer.status === 200) this.#noteRead(request);
      this.#processedAt.delete(request.number);
    },
    truncated: (request, status) => {
      this.#trace(`<- ${status} ${request.method} ${request.target} (torn off)`);
      this.#allowRepeatIfRejected(request, status);
    },
  };

  /** If the cloud rejected a request without acting on it, the bridge may send it once more. */
  #allowRepeatIfRejected(request: SeenRequest, status: number): void {
    if (isChange(request) && (status === 401 || status === 429)) this.#allowRepeat(request);
  }

  #notePause({ operation }: SeenRequest, { status, headers }: SimulatedAnswer): void {
    const seconds = Number(headers['retry-after']);
    if (operation === null || (status !== 429 && status !== 503) || !(seconds > 0)) return;
    const longestMs = isVitalList(operation) ? 10 * minuteMs : hourMs;
    const from = this.#now();
    this.#pauses.set(operation, { from, until: from + Math.min(seconds * 1_000, longestMs) });
  }

  #checkAskedFor(request: SeenRequest): void {
    // The oracle judges requests that move water, and more strictly.
    if (moveOf(request)) return;
    this.#count('a change was asked for, once, and in time');
    const now = this.#now();
    const limitMs = 2 * this.#options.requestTimeoutMs + 100;
    this.#allowed = this.#allowed.filter(({ at }) => now - at <= 4 * this.#options.requestTimeoutMs);
    const matching = this.#allowed.filter(({ change }) => change.matches(request));
    const free = matching.find(({ usedBy, at }) => usedBy === null && now - at <= limitMs);
    if (free) free.usedBy = request.number;
    else if (!this.#options.mayChangeUnasked(request)) {
      const why =
        matching.length === 0
          ? 'nobody asked for it'
          : matching.every(({ usedBy }) => usedBy !== null)
            ? 'it was asked for and sent before'
            : 'it is too late';
      this.#violated(`${request.method} ${request.target} ${request.body}: ${why}`);
    }
  }

  #allowRepeat(request: SeenRequest): void {
    const allowed = this.#allowed.find(({ usedBy }) => usedBy === request.number);
    if (allowed) allowed.usedBy = null;
  }

  #checkSignIn(answer: SimulatedAnswer): void {
    if (answer.status === 200) this.#endSignIns();
    const now = this.#now();
    if (answer.status === 429 || answer.status >= 500) this.#checkBackoff(now);
    if (answer.status !== 401) return;
    this.#count('rejected sign-ins keep to their limit');
    const { firstAt, lastAt } = this.#rejected ?? { firstAt: now, lastAt: Number.NEGATIVE_INFINITY };
    if (lastAt >= firstAt + hourMs && now - lastAt < hourMs - 1_000)
      this.#violated(`a rejected sign-in ${Math.round((now - lastAt) / 1_000)} s after another`);
    this.#rejected = { firstAt, lastAt: now };
    this.#rejectedSignIns = [...this.#rejectedSignIns.filter((at) => now - at < hourMs - 1_000), now];
    const lastMinute = this.#rejectedSignIns.filter((at) => now - at < minuteMs - 1_000).length;
    if (lastMinute > 3 || this.#rejectedSignIns.length > 6) {
      this.#violated(
        `${lastMinute} rejected sign-ins in a minute, ${this.#rejectedSignIns.length} in an hour`,
      );
    }
  }

  /** All sign-ins share one back-off, which grows to two minutes and varies a little at random. */
  #checkBackoff(now: number): void {
    this.#count('failed sign-ins keep to a back-off');
    this.#failedSignIns = [...this.#failedSignIns.filter((at) => now - at < 10 * minuteMs), now];
    const lastMinute = this.#failedSignIns.filter((at) => now - at < minuteMs).length;
    if (lastMinute > 8 || this.#failedSignIns.length > 20)
      this.#violated(
        `${lastMinute} failed sign-ins in a minute, ${this.#failedSignIns.length} in ten minutes`,
      );
  }

  #endSignIns(): void {
    this.#rejectedSignIns = [];
    this.#rejected = null;
    this.#failedSignIns = [];
  }

  #noteIncidentAnswer({ params }: SeenRequest, answer: SimulatedAnswer): void {
    const id = params['incident_id'];
    if (id === undefined) return;
    const isOpen = answer.status === 200 && (parsed(answer.text) as { open?: boolean }).open === true;
    if (!isOpen) this.#reportedClosed.add(id);
  }

  #noteRead({ operation, params, target, number }: SeenRequest): void {
    if (operation === null) return;
    const part = settingsParts.get(operation);
    if (part) this.#settingsRead.add(`sonic2mqtt/property/${params['property_id']}/${part}`);
    const processedAt = this.#processedAt.get(number);
    if (processedAt === undefined) return;
    if (operation.startsWith('list_') && !/[?&]page=(?!1(&|$))/.test(target)) {
      this.#crawls.set(operation, [...(this.#crawls.get(operation) ?? []).slice(-9), processedAt]);
    }
  }

  // ---- messages to and from the broker -------------------------------------------------------------------------

  readonly broker: BrokerTap = {
    handedOver: (topic, payload, retain) => {
      this.#trace(`>> ${topic}${retain ? ' (retained)' : ''} ${payload.slice(0, 160)}`);
      if (payload.includes(this.#options.password))
        this.#violated(`${topic} contains the password: ${payload}`);
      if (retain && payload === '') this.#checkDeletion(topic);
      else if (topic === 'sonic2mqtt/bridge/event') this.#checkEvent(payload);
    },
    taken: () => {},
    delivered: (topic, payload, isRetained, publishedAt) => {
      const origin = publishedAt === null ? ' (remembered)' : '';
      this.#trace(`<< ${topic}${isRetained ? ' (retained)' : origin} ${payload.slice(0, 100)}`);
      // The bridge may or may not report an outcome for an empty message, or for a stored message without the
      // retain flag.
      if (payload === '' || (publishedAt === null && !isRetained)) {
        this.#lateOutcomes.set(topic, (this.#lateOutcomes.get(topic) ?? 0) + 1);
        return;
      }
      const order = this.#orders.findLast((each) => each.topic === topic && each.payload === payload);
      if (!order) return;
      if (!isRetained) {
        for (const change of order.asksFor) this.#allowed.push({ change, at: this.#now(), usedBy: null });
      }
      if (!order.isCommand || (isRetained && payload === '')) return;
      this.#commandsAt.push(this.#now());
      const before = this.#delivered.get(topic)?.count ?? 0;
      this.#delivered.set(topic, { at: this.#now(), count: before + 1 });
    },
    linked: (isLinked) => {
      this.#trace(isLinked ? '== linked' : '== unlinked');
      this.#isLinked = isLinked;
      this.#noteLateOutcomes();
      this.#delivered.clear();
      this.#outcomes.clear();
    },
  };

  /** The outcome of a command may be reported over the next connection, or not at all. */
  #noteLateOutcomes(): void {
    for (const [topic, { count }] of this.#delivered) {
      const missing = Math.max(0, count - (this.#outcomes.get(topic) ?? 0));
      this.#lateOutcomes.set(topic, (this.#lateOutcomes.get(topic) ?? 0) + missing);
    }
  }

  #forgetCommands(): void {
    this.#delivered.clear();
    this.#outcomes.clear();
    this.#lateOutcomes.clear();
  }

  /** Nothing that still exists is deleted, and nothing is deleted before a complete list was without it. */
  #checkDeletion(topic: string): void {
    this.#count('what is deleted has left the cloud');
    const match =
      /^(?:homeassistant\/device\/sonic2mqtt_([^/]+)\/config|sonic2mqtt\/(?:property|signal|sonic|incident)\/([^/]+).*)$/.exec(
        topic,
      );
    const id = match?.[1] ?? match?.[2];
    if (id === undefined) {
      this.#violated(`${topic} is deleted, and belongs to no device or incident`);
      return;
    }
    const goneAt = this.#goneSince.get(id);
    // If the cloud says that a device lacks this part, only the part is deleted.
    if (!this.#known.has(id) || /\/(telemetry|usage|pressure_tests)$/.test(topic)) return;
    if (!this.#options.isSelected(id)) return;
    // The cloud may refuse these settings to this bridge, while another bridge has read and published them.
    if (/\/(settings|notifications)$/.test(topic) && !this.#settingsRead.has(topic)) return;
    if (goneAt === undefined) {
      this.#violated(`${topic} is deleted although the cloud has it`);
      return;
    }
    const lists = topic.includes('/incident/') ? ['list_incidents'] : deviceLists;
    const crawls = lists.flatMap((list) => this.#crawls.get(list as OperationName) ?? []);
    const isKnownGone = this.#reportedClosed.has(id) || crawls.some((at) => at >= goneAt);
    if (!isKnownGone) {
      this.#violated(`${topic} is deleted although no complete list was without it yet`);
    }
  }

  /**
   * An incident that was announced while nothing could be saved may be announced once more by the next run.
   * The log says so.
   */
  #countTimes(counts: Map<string, number>, id: string): number {
    const times = this.#options.isTruthful() ? (counts.get(id) ?? 0) + 1 : 1;
    counts.set(id, this.#options.canRemember() ? times : 0);
    return times;
  }

  #checkEvent(payload: string): void {
    const event = parsed(payload) as {
      event: string;
      id?: string;
      open?: boolean;
      topic?: string;
      reason?: string;
    };
    if (event.event === 'incident_opened' && event.id) {
      this.#count('an incident is announced once');
      if (!event.open) this.#violated(`incident ${event.id} is announced although it is not open`);
      const times = this.#countTimes(this.#openedEvents, event.id);
      if (times > 1) this.#violated(`the opening of incident ${event.id} is reported ${times} times`);
    }
    if (event.event === 'command' && event.topic && !event.reason?.startsWith('not_confirmed')) {
      this.#outcomes.set(event.topic, (this.#outcomes.get(event.topic) ?? 0) + 1);
    }
  }

  // ---- regular checks ------------------------------------------------------------------------------------------

  /** Expects no outcome of a command for this time. */
  excuse(forMs: number): void {
    this.#excusedUntil = Math.max(
      this.#excusedUntil,
      this.#now() + forMs + 4 * this.#options.requestTimeoutMs,
    );
  }

  /** Each delivered command has exactly one outcome, after some time. */
  checkOutcomes(): void {
    const now = this.#now();
    if (!this.#isLinked || now < this.#excusedUntil) return;
    for (const [topic, { at, count }] of this.#delivered) {
      const reported = this.#outcomes.get(topic) ?? 0;
      if (reported > count + (this.#lateOutcomes.get(topic) ?? 0))
        this.#violated(`${count} commands at ${topic}, but ${reported} outcomes`);
      if (now - at < 4 * this.#options.requestTimeoutMs) continue;
      this.#count('each command has one outcome');
      if (reported < count) this.#violated(`${count} commands at ${topic}, but only ${reported} outcomes`);
    }
  }

  /** A process whose timers or requests grow without limit has a leak. */
  checkLoad({ timers, requests }: { readonly timers: number; readonly requests: number }): void {
    this.#count('timers and requests are bounded');
    if (timers > maxTimers) this.#violated(`${timers} timers are running`);
    // Each valve may have a command in flight beside them, and the session a request.
    const most = this.#options.maxConcurrency + this.#world().thingIds.length + 1;
    if (requests > most) this.#violated(`${requests} requests are in flight`);
  }

  logged(line: string): void {
    this.#trace(`## ${line.trim()}`);
    const now = this.#now();
    this.#logLines = [...this.#logLines.filter((at) => now - at < hourMs), now];
    if (line.includes(this.#options.password)) this.#violated(`the log contains the password: ${line}`);
    this.#commandsAt = this.#commandsAt.filter((at) => now - at < hourMs);
    if (this.#logLines.length > 1_000 + 3 * this.#commandsAt.length)
      this.#violated('a thousand lines are logged within an hour');
    if (/"level":"(error|fatal)"/.test(line)) this.#violated(`an error is logged: ${line}`);
  }

  /** A client opens or closes a valve. */
  addMoveOrder(id: string, action: string): void {
    const topic = `sonic2mqtt/sonic/${id}/valve/set`;
    this.#orders.push({ topic, payload: action.toUpperCase(), isCommand: true, asksFor: [] });
  }

  reportViolation(words: string): void {
    this.#violated(words);
  }

  countCheck(check: string): void {
    this.#count(check);
  }

  #count(check: string): void {
    this.checks.set(check, (this.checks.get(check) ?? 0) + 1);
  }

  #violated(words: string): void {
    this.#trace(`!! ${words}`);
    this.violations.push(words);
  }
}

/** The topic of settings that an operation reads. */
const settingsParts = new Map<OperationName, string>([
  ['read_property_settings', 'settings'],
  ['read_notification_settings', 'notifications'],
]);

const deviceLists = [
  'list_properties',
  'list_signals',
  'list_sonics',
  'list_wifi_sonics',
  'list_property_signals',
];

function isChange({ operation }: SeenRequest): boolean {
  if (operation === null) return true;
  const row = operationRow(operation);
  return row.method !== 'GET' && !('session' in row && row.session === true);
}

function isOfSession(operation: OperationName): boolean {
  return operation === 'sign_in' || operation === 'refresh_token';
}

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
