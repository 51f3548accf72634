import { EventEmitter } from 'node:events';
import { onTestFinished } from 'vitest';
import type { Connection, ConnectionEvents } from '../../src/broker/connection.ts';
import type { MayBeStored } from '../../src/broker/message.ts';
import type { Control } from '../../src/cloud/catalogue.ts';
import { type Outcome, Outcomes } from '../../src/commands/outcome.ts';
import { CommandRouter } from '../../src/commands/router.ts';
import { newKept } from '../../src/state/sections.ts';
import type { IncidentEvent } from '../../src/store/incidents.ts';
import { Store } from '../../src/store/store.ts';
import { ownedSignals } from '../support/ownedSignals.ts';
import { type BenchOptions, startClient } from './clientBench.ts';
import type { StubHandler, StubRequest } from './cloudStub.ts';
import { FakeClock } from './fakeClock.ts';
import { logLines } from './logLines.ts';
import { anIncident, aProperty, aSignal, aSonic, bridgeView, topics } from './views.ts';
import { waitFor } from './waitFor.ts';

/** Permits all changes. A test can forbid some. */
export const everything: Readonly<Record<Control, boolean>> = {
  valves: true,
  incidents: true,
  pressure_tests: true,
  settings: true,
  account: true,
};

/** How a message was delivered, if not live and as text. */
interface MessageOptions {
  readonly isRetained?: boolean;
  readonly isText?: boolean;
  readonly mayBeStored?: MayBeStored | null;
  /** How long ago it may have been sent. */
  readonly ageMs?: number;
}

/**
 * A bench for commands and requests: the command router, with a store in which everything is known, on a stub
 * of the cloud. The test moves the clock.
 */
export async function startCommands(
  handler: StubHandler = () => ({}),
  control: Partial<Record<Control, boolean>> = {},
  options: BenchOptions & { readonly selection?: readonly string[] } = {},
) {
  const clock = new FakeClock();
  const requestTimeoutMs = 1_000;
  const session = { token: 'kept', since: clock.now() };
  const { selection = [], ...clientOptions } = options;
  const { client, stub } = await startClient(handler, { session, requestTimeoutMs, clock, ...clientOptions });
  const store = new Store({ selection, clock });
  const complete = <T>(records: readonly T[]) => ({ records, isComplete: true, startedAt: 0 });
  store.replaceProperties(complete([aProperty()]));
  store.setOwnedSignals(ownedSignals('property-1', ['signal-1']));
  store.replaceSignals(complete([aSignal()]));
  store.replaceSonics(complete([aSonic()]));
  const ofSignal = anIncident({ id: 'incident-2', type: 'cloud_disconnection', sonic_id: null });
  store.replaceIncidents(complete([anIncident(), ofSignal]));
  /** The answers to requests. */
  const responses: { readonly topic: string; readonly payload: string; readonly acknowledge: () => void }[] =
    [];
  const connection = Object.assign(new EventEmitter<ConnectionEvents>(), {
    roomFor: () => 1_000_000,
    publish: (topic: string, payload: string) =>
      new Promise<void>((acknowledge) => void responses.push({ topic, payload, acknowledge })),
  });
  const ended: Outcome[] = [];
  /** Commands to the bridge itself. */
  const orders: string[] = [];
  /** Polls that the router has started early. */
  const polledEarly: string[] = [];
  const incidentEvents: IncidentEvent[] = [];
  store.on('incident', (event) => incidentEvents.push(event));
  const lines = logLines('trace');
  const outcomes = new Outcomes(topics, store, clock, lines.log);
  const kept = newKept();
  Object.assign(kept.pauses, { isSaved: () => true });
  Object.assign(store.valves, { dismissFailure: () => void orders.push('dismissal') });
  const commands = new CommandRouter({
    topics,
    control: { ...everything, ...control },
    statusTopic: 'homeassistant/status',
    client,
    connection: connection as unknown as Connection,
    store,
    poller: {
      runNow: async (poll) => void polledEarly.push(poll),
      readNewTest: async () => {},
      refresh: () => void orders.push('refresh'),
    },
    state: { kept, problem: null },
    bridge: { view: bridgeView() },
    outcomes,
    requestTimeoutMs,
    confirmTimeoutMs: 5_000,
    confirmIntervalMs: 500,
    clock,
    log: lines.log,
  });
  outcomes
    .on('showAgain', (kind) => {
      if (kind === 'bridge' && lines.log.level !== 'trace') orders.push('log level');
    })
    .on('outcome', (outcome) => void ended.push(outcome))
    .on('offersChanged', () => void polledEarly.push('offers'));
  onTestFinished(() => commands.stop());
  const take = (
    topic: string,
    payload: string,
    { isRetained = false, mayBeStored = null, isText = true, ageMs = 0 }: MessageOptions = {},
  ) =>
    connection.emit('message', {
      topic,
      payload,
      isRetained,
      mayBeStored,
      isText,
      sentAfter: clock.monotonic() - ageMs,
    });
  const isChange = ({ method }: StubRequest) => method !== 'GET';
  return {
    clock,
    stub,
    asked: client.asked,
    store,
    stop: () => commands.stop(),
    reconnect: () => connection.emit('connected'),
    take,
    outcomes: ended,
    responses,
    orders,
    polledEarly,
    incidentEvents,
    lines,
    /** The changes that reached the cloud: their paths and bodies. */
    get changes() {
      return stub.requests.filter(isChange).map(({ path, body }) => [path, body] as const);
    },
    /** Waits until this many commands have their outcome. */
    untilOutcomes: (count: number) => waitFor(() => ended.length >= count, { what: `${count} outcomes` }),
    /** Waits until this many changes have reached the cloud. */
    untilChanges: (count: number) =>
      waitFor(() => stub.requests.filter(isChange).length >= count, {
        what: `${count} changes at the cloud`,
      }),
  };
}

/** A handler that answers changes only after `open()` was called. Reads are answered at once. */
export function door() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const handler: StubHandler = async ({ method }) => {
    if (method !== 'GET') await opened;
    return { json: aSonic() };
  };
  return { open, opened, handler };
}
