import { setTimeout as pause } from 'node:timers/promises';
import type { Broker } from '../../measure/broker.ts';
import { quantile } from '../../measure/statistics.ts';
import { nowMs } from '../../measure/time.ts';
import type { Figure } from '../figures.ts';
import { Listener } from '../listener.ts';
import {
  emptyScript,
  listBegins,
  onStage,
  type Raw,
  record,
  type Stage,
  type Story,
  startBridge,
  startRaw,
  workOf,
  writeScript,
} from '../stage.ts';

/** How long commands took from the message to the request, in ms. */
interface Times {
  readonly bridge: number[];
  readonly raw: number[];
}

/** One of the two that carry commands out. */
interface Side {
  readonly stage: Stage;
  /** Its broker has this client. */
  readonly listener: Listener;
  readonly times: number[];
}

/** What is needed for both. */
interface Both {
  readonly stage: Stage;
  readonly raw: Raw;
  /** A valve that has had no command yet. */
  readonly nextId: () => string;
  readonly pace: 'usually' | 'quickly';
}

/** Commands of each side that count, and those before, in which code is compiled. */
const commands = { usually: 40, quickly: 2 };
const warmUps = { usually: 5, quickly: 1 };
/** A list is read this often, so that the raw loop has its turn between two reads. */
const period = { usually: '7s', quickly: '3s' };
const quietMs = 300;
/**
 * Mosquitto holds a message back until the client's system has acknowledged what it sent before, which takes up to 44 ms
 * (Nagle's algorithm and delayed acknowledgements). So no command follows an acknowledgement of a publish more closely:
 * not those when the cloud has accepted a command, and not those when the valve has been read again.
 */
const pauseMs = 60;
/** While nothing else happens, a valve is read again before the next command. */
const confirmMs = 100;
const restMs = confirmMs + pauseMs + 40;
/** While lists are read, this is longer than that takes. */
const longConfirmMs = 2_000;
/** So many requests are made during a command at least, if the list is still being read. */
const fewestOfList = 5;
/** The list of fewer sonics is read before a command comes. */
const fewestToRead = 1_000;
const firstPage = '/ape/v1/sonics?page=1';

/** A valve command comes from the broker and goes to the cloud, while nothing else happens, or while lists are read. */
export const command: Story = {
  name: 'command',
  sizes: [10_000],
  run: (bench, sonics) =>
    onStage(bench, { sonics }, async (stage) => {
      const ids = [...(await stage.cloud.ask('sonicIds'))];
      const nextId = () => {
        const id = ids.pop();
        if (id === undefined) throw new Error('there are too few sonics for so many commands');
        return id;
      };
      const raw = await startRaw(writeScript(stage, emptyScript));
      await raw.ask('signIn');
      await raw.ask('connect');
      await raw.ask('serveCommands');
      const both = { stage, raw, nextId, pace: bench.isQuick ? 'quickly' : 'usually' } as const;
      const { times, messages } = await inQuiet(both);
      const figures = figuresOf(sonics, 'quiet', times);
      if (sonics < fewestToRead) return figures;
      bench.say('command, while lists are read');
      return [...figures, ...figuresOf(sonics, 'while lists are read', await whileReading(both, messages))];
    }),
};

async function inQuiet(both: Both): Promise<{ times: Times; messages: object }> {
  const { stage, raw, nextId, pace } = both;
  const bridge = startBridge(stage, { confirmMs });
  await workOf(stage, bridge);
  const messages = await messagesOfCommand(stage, nextId());
  await raw.ask('load', writeScript(stage, emptyScript, { ...messages, confirmMs }));
  const sides = await sidesOf(stage);
  for (let count = 0; count < warmUps[pace] + commands[pace]; count++) {
    for (const side of [sides.bridge, sides.raw]) {
      await move(side, nextId());
      await pause(restMs);
    }
  }
  await bridge.stop();
  const counted = ({ times }: Side) => times.slice(warmUps[pace]);
  return { times: { bridge: counted(sides.bridge), raw: counted(sides.raw) }, messages };
}

async function whileReading({ stage, raw, nextId, pace }: Both, messages: object): Promise<Times> {
  const { cloud, broker } = stage;
  await broker.restart();
  const bridge = startBridge(stage, {
    schedules: { sonics: period[pace] },
    confirmMs: longConfirmMs,
  });
  await workOf(stage, bridge);
  // The raw loop has already had its first commands.
  const first = (await sidesOf(stage)).bridge;
  for (let count = 0; count < warmUps[pace]; count++) {
    await move(first, nextId());
    await pause(longConfirmMs / warmUps[pace]);
  }
  await pause(longConfirmMs);
  const { script } = await record(stage, () => listBegins(stage, bridge), quietMs);
  await raw.ask('load', writeScript(stage, script, { ...messages, confirmMs: longConfirmMs }));
  const sides = await sidesOf(stage);
  const times = { bridge: sides.bridge.times, raw: sides.raw.times };
  while (Math.min(times.bridge.length, times.raw.length) < commands[pace]) {
    await listBegins(stage, bridge);
    await moveUntilRead(sides.bridge, nextId);
    await workOf(stage, bridge, quietMs);
    const begun = cloud.ask('nextRequest', 'GET', firstPage);
    const done = raw.ask('run', 'one after the other');
    await begun;
    await moveUntilRead(sides.raw, nextId);
    await done;
    // All valves are read again before the next list, which would publish them.
    await pause(longConfirmMs + pauseMs);
  }
  return times;
}

async function sidesOf(stage: Stage): Promise<Record<keyof Times, Side>> {
  const side = async ({ url }: Broker) => ({ stage, listener: await Listener.start(url), times: [] });
  return { bridge: await side(stage.broker), raw: await side(stage.rawBroker) };
}

function figuresOf(sonics: number, what: string, { bridge, raw }: Times): Figure[] {
  const worst = (times: readonly number[]) => [quantile(times, 0.99)];
  const common = { story: 'command', sonics, unit: 'ms' };
  return [
    { ...common, what, bridge, raw, target: { by: 'difference', most: 0.7 } },
    { ...common, what: `${what}, p99`, bridge: worst(bridge), raw: worst(raw), target: null },
  ];
}

/** Sends a command, and resolves once its request has come to the cloud. */
async function move({ stage: { cloud }, listener, times }: Side, id: string): Promise<void> {
  const arrival = cloud.ask('nextRequest', 'PUT', `/ape/v1/sonics/${id}/valve`);
  // The answer means that the cloud waits for the request.
  await cloud.ask('traffic');
  const sentAtMs = nowMs();
  await listener.publish(`sonic2mqtt/sonic/${id}/valve/set`, 'CLOSE');
  times.push((await arrival) - sentAtMs);
}

/** Sends one command after the other until the list is read. */
async function moveUntilRead(side: Side, nextId: () => string): Promise<void> {
  const { cloud } = side.stage;
  for (;;) {
    const { requests: before } = await cloud.ask('traffic');
    await move(side, nextId());
    await pause(pauseMs);
    const { requests: after } = await cloud.ask('traffic');
    if (after - before >= fewestOfList) continue;
    // The list was read in the middle of this one.
    side.times.pop();
    return;
  }
}

/** What the bridge publishes when the cloud has accepted a command, and when it has shown the valve again. */
async function messagesOfCommand(stage: Stage, id: string): Promise<object> {
  const { cloud, broker } = stage;
  const listener = await Listener.start(broker.url, ['sonic2mqtt/#', 'homeassistant/#']);
  const reading = cloud.ask('nextRequest', 'GET', `/ape/v1/sonics/${id}`);
  await move({ stage, listener, times: [] }, id);
  const readAtMs = await reading;
  await pause(2 * quietMs);
  await listener.stop();
  const published = listener.heard.filter(({ topic }) => !topic.endsWith('/set'));
  const given = (isWanted: (atMs: number) => boolean) =>
    published
      .filter(({ atMs }) => isWanted(atMs))
      .map(({ topic, payload, retain }) => ({ topic, payload: payload.toString(), retain }));
  return {
    accepted: given((atMs) => atMs < readAtMs),
    confirmed: given((atMs) => atMs >= readAtMs),
  };
}
