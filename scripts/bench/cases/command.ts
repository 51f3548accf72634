import { setTimeout as pause } from 'node:timers/promises';
import { nowMs } from '../../measure/now.ts';
import { quantile } from '../../measure/statistics.ts';
import type { Case } from '../case.ts';
import type { Figure } from '../figures.ts';
import type { Listener } from '../listener.ts';
import { type Polling, pathsOfPoll, periodMsOf, pollBegins, withBoth } from '../polls.ts';
import type { Bench } from '../stage.ts';

/** Whoever carries commands out, by the first part of its topics. */
type Root = 'sonic2mqtt' | 'raw';

/** How long commands took, in ms, each at another valve. */
type Times = Record<Root, number[]>;

/** Of each; code is compiled during the first ones, which are not counted. */
const commands = { usually: 200, quickly: 3 };
const warmUps = { usually: 5, quickly: 1 };
/** With fewer, a poll is over before a command comes. */
const fewestToPoll = 1_000;
const pauseMs = 10;
/** To the cloud, for the lists that the bridge reads, and one for commands. */
const connections = 5;
/** The bridge reads the list twice as often once a command was accepted; part of that belongs to the raw loop. */
const rawShare = 0.3;

const medianTarget = { by: 'difference', most: 2 } as const;
const worstTarget = { by: 'difference', most: 10 } as const;

/** A command from MQTT to the cloud, and what the cloud shows then to MQTT. */
export const command: Case = {
  name: 'command',
  what: 'a valve command from MQTT to the cloud, and from the cloud to MQTT, quiet and while a poll runs',
  sizes: [10_000],
  run: async (bench, sonics) => {
    const quiet = await commandsInQuiet(bench, sonics);
    const figures = [
      ...figuresOf(sonics, 'quiet, to the cloud', quiet.sent),
      ...figuresOf(sonics, 'quiet, from the cloud', quiet.shown),
    ];
    if (sonics < fewestToPoll) {
      bench.note(`command: a poll of ${sonics} sonics is over too soon to send a command while it runs`);
      return figures;
    }
    return [...figures, ...figuresOf(sonics, 'polling, to the cloud', await commandsInPolls(bench, sonics))];
  },
};

function figuresOf(sonics: number, what: string, { sonic2mqtt, raw }: Times): Figure[] {
  const worst = (times: readonly number[]) => [quantile(times, 0.99)];
  const common = { case: 'command', sonics, unit: 'ms' };
  return [
    { ...common, what, bridge: sonic2mqtt, raw, target: medianTarget },
    { ...common, what: `${what}, p99`, bridge: worst(sonic2mqtt), raw: worst(raw), target: worstTarget },
  ];
}

function pace({ isQuick }: Bench): 'usually' | 'quickly' {
  return isQuick ? 'quickly' : 'usually';
}

/** Nothing else goes on. */
function commandsInQuiet(bench: Bench, sonics: number): Promise<{ sent: Times; shown: Times }> {
  bench.say(`command, ${sonics} sonics: in quiet`);
  return withBoth(bench, sonics, { lists: [], connections }, async (polling) => {
    await polling.raw.ask('serveCommands');
    const failure = failureOf(polling.listener);
    const ids = await polling.stage.cloud.ask('sonicIds');
    const sent: Times = { sonic2mqtt: [], raw: [] };
    const shown: Times = { sonic2mqtt: [], raw: [] };
    const notCounted = 2 * warmUps[pace(bench)];
    for (const [index, id] of ids.slice(0, notCounted + 2 * commands[pace(bench)]).entries()) {
      const root = index % 2 === 0 ? 'sonic2mqtt' : 'raw';
      const times = await commandAndShow(polling, root, id, failure);
      if (index < notCounted) continue;
      sent[root].push(times.sentMs);
      shown[root].push(times.shownMs);
    }
    return { sent, shown };
  });
}

/** Sends a command and waits until the valve is shown as closed. */
async function commandAndShow(
  { stage: { cloud }, listener }: Polling,
  root: Root,
  id: string,
  failure: Promise<never>,
) {
  const arrival = cloud.ask('nextRequest', 'PUT', `/ape/v1/sonics/${id}/valve`);
  const reading = cloud.ask('nextReading', id, 'closed');
  const shown = listener.next(
    ({ topic, payload }) =>
      topic === `${root}/sonic/${id}` && payload !== '' && JSON.parse(payload).valve_state === 'closed',
  );
  const sentAtMs = await send({ cloud, listener }, root, id);
  const sentMs = (await Promise.race([arrival, failure])) - sentAtMs;
  const { atMs } = await Promise.race([shown, failure]);
  return { sentMs, shownMs: atMs - (await reading) };
}

/** Rejects once the bridge says that it could not carry a command out; never resolves. */
async function failureOf(listener: Listener): Promise<never> {
  const { payload } = await listener.next(({ topic, payload }) => {
    return topic === 'sonic2mqtt/bridge/event' && JSON.parse(payload).status !== 'ok';
  });
  throw new Error(`a command was not carried out: ${payload}`);
}

/** Resolves to when it was sent. */
async function send(
  { cloud, listener }: Pick<Polling, 'listener'> & Pick<Polling['stage'], 'cloud'>,
  root: Root,
  id: string,
): Promise<number> {
  // An answer means that the cloud has taken in what it is to look out for.
  await cloud.ask('traffic');
  const sentAtMs = nowMs();
  await listener.publish(`${root}/sonic/${id}/valve/set`, 'CLOSE');
  await pause(pauseMs);
  return sentAtMs;
}

/** While the bridge reads the lists, or the raw loop does. */
function commandsInPolls(bench: Bench, sonics: number): Promise<Times> {
  return withBoth(bench, sonics, { lists: ['sonics'], connections }, async (polling) => {
    await polling.raw.ask('serveCommands');
    const failure = failureOf(polling.listener);
    const paths = await pathsOfPoll(polling.stage);
    const ids = [...(await polling.stage.cloud.ask('sonicIds'))];
    const wanted = commands[pace(bench)];
    const times: Times = { sonic2mqtt: [], raw: [] };
    while (times.sonic2mqtt.length < wanted || times.raw.length < wanted) {
      bench.say(
        `command, ${sonics} sonics: in polls, ${times.sonic2mqtt.length} and ${times.raw.length} so far`,
      );
      await pollBegins(polling.stage);
      const begunAtMs = nowMs();
      await commandsOf(polling, 'sonic2mqtt', ids, times, failure);
      while (nowMs() - begunAtMs < periodMsOf(sonics) * rawShare && times.raw.length < wanted) {
        void polling.raw.ask('request', paths);
        await commandsOf(polling, 'raw', ids, times, failure);
      }
    }
    return times;
  });
}

/** One after the other, until a poll that runs is over. */
async function commandsOf(
  { stage: { cloud }, listener }: Polling,
  root: Root,
  ids: string[],
  times: Times,
  failure: Promise<never>,
): Promise<void> {
  for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
    const arrival = cloud.ask('nextRequest', 'PUT', `/ape/v1/sonics/${id}/valve`);
    const { requests: before } = await cloud.ask('traffic');
    const sentAtMs = await send({ cloud, listener }, root, id);
    const sentMs = (await Promise.race([arrival, failure])) - sentAtMs;
    const { requests: after } = await cloud.ask('traffic');
    // The list's own requests went on, beside the command and the look at an earlier valve.
    if (after - before < fewestOfPoll) return;
    times[root].push(sentMs);
  }
}

const fewestOfPoll = 5;
