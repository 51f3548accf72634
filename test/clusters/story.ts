import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFailed } from 'vitest';
import { waitFor } from '../support/waitFor.ts';
import { type Cluster, nodeCount, startCluster } from './cluster.ts';
import { type Command, Commands } from './commands.ts';
import { differences, type Eyes, openEyes, picture } from './eyes.ts';
import {
  absencesOf,
  type BaseTopics,
  endFleet,
  type Fleet,
  type Member,
  nodeOf,
  startFleet,
} from './fleet.ts';
import { Publisher } from './publisher.ts';

/** A node that comes back shows all it should only after a while. */
const replicationMs = 150_000;

const fleets: readonly BaseTopics[] = [['sonic2mqtt'], ['sonic2mqtt/north', 'sonic2mqtt/south']];

/**
 * The story of one bridge, and of two with different properties, on a cluster whose nodes are killed and come back, one
 * after the other.
 */
export function tellStory(name: string, program: string | undefined, protocolVersion: 4 | 5): void {
  if (program === undefined)
    console.info(`${name} is not tested: its variable names no program (test/clusters/README.md)`);
  describe.skipIf(program === undefined).each(fleets.map((topics) => ({ topics })))(
    `$topics on ${name}`,
    ({ topics: baseTopics }) => {
      let cluster: Cluster;
      let fleet: Fleet;
      let eyes: Eyes;
      let commands: Commands;
      let wanted: ReadonlyMap<string, string> = new Map();
      let publisher: Publisher;
      const figures: string[] = [];

      const urlOf = (node = 0) => cluster.urls[node - 1] ?? '';
      const picturesOf = () => Promise.all(cluster.urls.map((url) => picture(url, protocolVersion)));
      const untilWhole = async () => {
        let wrong: string[][] = [];
        const isWhole = async () => {
          wrong = (await picturesOf()).map((each) => differences(wanted, each));
          return wrong.flat().length === 0;
        };
        // What is different says more than a wait in vain.
        await waitFor(isWhole, {
          what: 'all nodes to be whole',
          timeoutMs: replicationMs,
          intervalMs: 1_000,
        }).catch(() => undefined);
        expect(wrong).toEqual(cluster.urls.map(() => []));
      };

      beforeAll(async () => {
        cluster = await startCluster(program ?? '');
        eyes = await openEyes(cluster.urls, protocolVersion);
        fleet = await startFleet(cluster.urls, baseTopics);
        publisher = new Publisher(urlOf(1), protocolVersion);
        commands = new Commands(fleet, eyes, publisher);
      });

      afterAll(async () => {
        commands?.close();
        publisher?.close();
        if (fleet) await endFleet(fleet);
        await eyes?.close();
        await cluster?.end();
        if (figures.length > 0) console.info([`${name}:`, ...figures].join('\n  '));
      });

      beforeEach(() => {
        onTestFailed(() => console.info(fleet.members.map(({ program }) => program.stderr).join('\n----\n')));
      });

      it('show everything, on every node the same', async () => {
        const topics = [
          ...fleet.members.flatMap(({ baseTopic, sonicIds }) => [
            `${baseTopic}/bridge/state`,
            ...sonicIds.flatMap((id) =>
              ['usage', 'pressure_tests', 'telemetry'].map((path) => `${baseTopic}/sonic/${id}/${path}`),
            ),
          ]),
        ];
        const isShown = async () => {
          const [first, ...others] = await picturesOf();
          if (!first || topics.some((topic) => !first.has(topic))) return false;
          wanted = first;
          return others.every((each) => differences(first, each).length === 0);
        };
        await waitFor(isShown, {
          what: 'everything to be shown everywhere',
          timeoutMs: replicationMs,
          intervalMs: 1_000,
        });
        expect(fleet.members.map((member) => nodeOf(member, cluster.urls))).toEqual(
          fleet.members.map((_, index) => index + 1),
        );
      });

      for (let node = 1; node <= nodeCount; node++) {
        it(`lose no command and nothing that is shown when node ${node} is killed, and none when it is back`, async () => {
          const others = [1, 2, 3].filter((each) => each !== node);
          const affected = fleet.members.filter((member) => nodeOf(member, cluster.urls) === node);
          publisher.goTo(urlOf(others[0]));
          // Whoever has begun to look in a test ends with it.
          for (let returned = 1; returned < node; returned++) await eyes.open(returned);
          commands.begin();
          const told = (from: number) =>
            new Set(
              commands.list
                .slice(from)
                .filter(({ outcome }) => outcome === 'ok')
                .map(({ sonicId }) => sonicId),
            );
          const valves = fleet.members.flatMap(({ sonicIds }) => sonicIds).length;
          const begun = commands.list.length;
          await waitFor(() => told(begun).size === valves, {
            what: 'a command to each valve',
            timeoutMs: 120_000,
          });

          await cluster.kill(node);
          const killedAt = performance.now();
          const isBack = ({ baseTopic }: Member) =>
            eyes
              .messages()
              .find(
                ({ topic, text, atMs }) =>
                  atMs > killedAt && topic === `${baseTopic}/bridge/state` && text === 'online',
              );
          await waitFor(() => affected.every(isBack), {
            what: 'the bridges of the node to be elsewhere',
            timeoutMs: 120_000,
            intervalMs: 200,
          });
          const awayMs = affected.map((member) => Math.round((isBack(member)?.atMs ?? 0) - killedAt));
          publisher.goTo(urlOf(others[1]));
          const since = commands.list.length;
          await waitFor(() => told(since).size === valves, {
            what: 'a command to each valve by another node',
            timeoutMs: 120_000,
          });

          await cluster.revive(node);
          const revivedAt = performance.now();
          await eyes.open(node);
          const openedMs = performance.now() - revivedAt;
          publisher.goTo(urlOf(node));
          const again = commands.list.length;
          await waitFor(() => told(again).size === valves, {
            what: 'a command to each valve by the node that is back',
            timeoutMs: 120_000,
          });
          await commands.end();

          const { world } = fleet.simulator;
          for (const id of world.sonics.ids) world.setValve(id, 'open');
          await untilWhole();
          const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
          const fates = commands.list.slice(begun);
          figures.push(
            `node ${node} killed: ${affected.length} bridges elsewhere after ${awayMs.map(seconds).join(', ') || 'no time'}; it takes subscriptions ${seconds(openedMs)} after its return, and all nodes are whole within ${seconds(performance.now() - revivedAt)}`,
            `  commands: ${fates.length}, not taken: ${fates.filter(({ isTaken }) => !isTaken).length}, not told: ${fates.filter(({ outcome }) => outcome === null).length}, not carried out: ${fates.filter(({ carriedOut }) => carriedOut === 0).length}, failed: ${
              fates
                .filter(({ outcome }) => outcome !== null && outcome !== 'ok')
                .map(({ outcome }) => outcome)
                .join('; ') || 'none'
            }`,
          );
          for (const command of fates) expectSane(command);
        });
      }

      it('have moved no valve that nobody commanded, and none twice for one command', () => {
        for (const member of fleet.members) {
          for (const id of member.sonicIds) {
            const given = commands.list.filter(({ sonicId, carriedOut }) => sonicId === id && carriedOut > 0);
            const asked = commands.asked(id).map(({ body }) => (body as { action: string }).action);
            expect(asked).toEqual(given.map(({ action }) => action));
            const handed = commands.list.filter(({ sonicId }) => sonicId === id);
            expect(commands.told(member, id).length).toBeLessThanOrEqual(handed.length);
          }
        }
      });

      it('have deleted nothing of what is there', () => {
        const deleted = eyes.messages().filter(({ topic, text }) => text === '' && wanted.has(topic));
        expect(deleted).toEqual([]);
      });

      it('are not said to be gone on any node, and stop in time', async () => {
        await untilWhole();
        for (const { baseTopic } of fleet.members)
          expect(wanted.get(`${baseTopic}/bridge/state`)).toBe('online');
        for (const { program } of fleet.members) {
          const { code, durationMs } = await program.stop();
          expect({ code, isQuick: durationMs < 5_000 }).toEqual({ code: 0, isQuick: true });
        }
      });
    },
  );
}

/** How long a command may be on its way to a bridge that then loses its node, or be kept waiting by the broker. */
const onItsWayMs = 2_000;

/** Each command is carried out once and told so, but for those that were on their way to a bridge that lost its node. */
function expectSane({ owner, outcome, carriedOut, ...command }: Command): void {
  const words = JSON.stringify({ ...command, outcome, carriedOut, absences: absencesOf(owner) });
  expect(carriedOut, words).toBeLessThanOrEqual(1);
  if (outcome === 'ok') expect(carriedOut, words).toBe(1);
  const isOnItsWay = absencesOf(owner).some(
    ({ fromMs, toMs }) => command.publishedAtMs > fromMs - onItsWayMs && command.publishedAtMs < toMs,
  );
  if (command.isTaken && !isOnItsWay)
    expect({ outcome, carriedOut }, words).toEqual({ outcome: 'ok', carriedOut: 1 });
}
