import { setTimeout as pause } from 'node:timers/promises';
import { quantile } from '../../measure/statistics.ts';
import { nowMs } from '../../measure/time.ts';
import type { Figure } from '../figures.ts';
import { Listener } from '../listener.ts';
import {
  confirmMs,
  listBegins,
  onStage,
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

/** Commands of each side that count, and those before, in which code is compiled. */
const commands = { usually: 100, quickly: 2 };
const warmUps = { usually: 10, quickly: 1 };
/** A list is read this often, so that the raw loop has its turn between two reads. */
const period = { usually: '7s', quickly: '3s' };
const quietMs = 300;
/** Nothing of a command is under way any more. */
const restMs = confirmMs + 50;
/** While a list is read, commands follow each other closely, to have enough of them. */
const pauseMs = Number(process.env['PAUSE'] ?? 10);
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
      const { cloud, broker, rawBroker } = stage;
      const ids = [...(await cloud.ask('sonicIds'))];
      const pace = bench.isQuick ? 'quickly' : 'usually';
      const nextId = () => {
        const id = ids.pop();
        if (id === undefined) throw new Error('there are too few sonics for so many commands');
        return id;
      };
      bench.say(`command, ${sonics} sonics, quiet`);
      const idle = startBridge(stage);
      await workOf(stage, idle);
      const messages = await messagesOfCommand(stage, nextId());
      const raw = await startRaw(stage, { paths: [], messages: [] });
      await raw.ask('load', writeScript(stage, { paths: [], messages: [] }, messages));
      await raw.ask('signIn');
      await raw.ask('connect');
      await raw.ask('serveCommands');
      const newSides = async () => {
        const [ours, theirs] = [await Listener.start(broker.url), await Listener.start(rawBroker.url)];
        return {
          bridge: { stage, listener: ours, times: [] as number[] },
          raw: { stage, listener: theirs, times: [] as number[] },
        };
      };
      const quiet = await newSides();
      for (let count = 0; count < warmUps[pace] + commands[pace]; count++) {
        for (const side of [quiet.bridge, quiet.raw]) {
          await move(side, nextId());
          await pause(restMs);
        }
      }
      await idle.stop();
      const without = (times: readonly number[]) => times.slice(warmUps[pace]);
      const figures = figuresOf(sonics, 'quiet', {
        bridge: without(quiet.bridge.times),
        raw: without(quiet.raw.times),
      });
      if (sonics < fewestToRead) return figures;

      await broker.restart();
      const bridge = startBridge(stage, { schedules: { sonics: period[pace] } });
      await workOf(stage, bridge);
      const { script } = await record(stage, () => listBegins(stage, bridge), quietMs);
      await raw.ask('load', writeScript(stage, script, messages));
      const reading = await newSides();
      const isEnough = () =>
        Math.min(reading.bridge.times.length, reading.raw.times.length) >= commands[pace];
      while (!isEnough()) {
        bench.say(`command, ${sonics} sonics, while lists are read: ${reading.raw.times.length}`);
        await listBegins(stage, bridge);
        await moveWhileReading(reading.bridge, nextId);
        await workOf(stage, bridge, quietMs);
        const begun = cloud.ask('nextRequest', 'GET', firstPage);
        const done = raw.ask('run', 'one after the other');
        await begun;
        await moveWhileReading(reading.raw, nextId);
        await done;
      }
      const { bridge: ours, raw: theirs } = reading;
      figures.push(...figuresOf(sonics, 'while lists are read', { bridge: ours.times, raw: theirs.times }));
      return figures;
    }),
};

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
async function moveWhileReading(side: Side, nextId: () => string): Promise<void> {
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
    confirmMs,
    accepted: given((atMs) => atMs < readAtMs),
    confirmed: given((atMs) => atMs >= readAtMs),
  };
}
