import { setTimeout as pause } from 'node:timers/promises';
import type { LoggedRequest } from '../../src/simulator/server.ts';
import type { Eyes } from './eyes.ts';
import type { Fleet, Member } from './fleet.ts';
import type { Publisher } from './publisher.ts';

/** A command that was handed to a broker, and what became of it. */
export interface Command {
  readonly owner: Member;
  readonly sonicId: string;
  readonly action: 'open' | 'close';
  /** In ms since 1970. */
  readonly publishedAtMs: number;
  /** Whether the broker has acknowledged it; else it may have come through all the same. */
  readonly isTaken: boolean;
  /** Null where nobody was told. */
  outcome: string | null;
  /** How often the cloud was asked for it. */
  carriedOut: number;
}

/** How long an outcome is waited for; the bridge answers within the cloud's deadline. */
const patienceMs = 12_000;

/** Each look goes through all that was ever seen. */
const lookEveryMs = 200;

/** Commands to every valve, one after the other, for as long as it goes on. */
export class Commands {
  readonly list: Command[] = [];
  readonly #fleet: Fleet;
  readonly #eyes: Eyes;
  readonly #asked = new Set<LoggedRequest>();
  readonly #publisher: Publisher;
  #loops: Promise<void>[] = [];
  #isOn = false;
  readonly #timer: NodeJS.Timeout;

  constructor(fleet: Fleet, eyes: Eyes, publisher: Publisher) {
    this.#fleet = fleet;
    this.#eyes = eyes;
    this.#publisher = publisher;
    // The cloud remembers its newest requests only.
    this.#timer = setInterval(() => this.#look(), lookEveryMs);
  }

  begin(): void {
    this.#isOn = true;
    this.#loops = this.#fleet.members.flatMap((owner) =>
      owner.sonicIds.map((id) => this.#command(owner, id)),
    );
  }

  /** Resolves once the last commands have their outcome, or nobody was told one. */
  async end(): Promise<void> {
    this.#isOn = false;
    await Promise.all(this.#loops);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** How often the cloud was asked to move this valve so. */
  asked(sonicId: string): LoggedRequest[] {
    this.#look();
    return [...this.#asked].filter(({ path }) => path.includes(sonicId));
  }

  /** What the bridges have told of commands to this valve, each once. */
  told(owner: Member, sonicId: string): string[] {
    const topic = commandTopic(owner, sonicId);
    const events = this.#eyes
      .messages()
      .filter((message) => message.topic.endsWith('/event') && message.text.includes(topic))
      .map(({ text }) => text);
    return [...new Set(events)]
      .map((text) => JSON.parse(text))
      .flatMap(({ event, status, reason }) =>
        event === 'command' && reason !== 'not_confirmed' ? [`${status}${reason ? `: ${reason}` : ''}`] : [],
      );
  }

  #look(): void {
    for (const request of this.#fleet.simulator.requests.entries) {
      if (request.operation === 'command_valve') this.#asked.add(request);
    }
  }

  async #command(owner: Member, sonicId: string): Promise<void> {
    const topic = commandTopic(owner, sonicId);
    for (let round = 0; this.#isOn; round++) {
      const action = round % 2 === 0 ? 'close' : 'open';
      const before = { told: this.told(owner, sonicId).length, asked: this.asked(sonicId).length };
      const publishedAtMs = Date.now();
      const taking = this.#publisher.publish(topic, action);
      const isTaken = await Promise.race([taking, pause(patienceMs, false)]);
      const command: Command = {
        owner,
        sonicId,
        action,
        publishedAtMs,
        isTaken,
        outcome: null,
        carriedOut: 0,
      };
      while (Date.now() < publishedAtMs + patienceMs && command.outcome === null) {
        await pause(lookEveryMs);
        command.outcome = this.told(owner, sonicId)[before.told] ?? null;
      }
      command.carriedOut = this.asked(sonicId).length - before.asked;
      this.list.push(command);
      await pause(500);
    }
  }
}

function commandTopic({ baseTopic }: Member, sonicId: string): string {
  return `${baseTopic}/sonic/${sonicId}/valve/set`;
}
