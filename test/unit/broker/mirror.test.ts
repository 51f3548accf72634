import type { Connection } from '../../../src/broker/connection.ts';
import { Mirror } from '../../../src/broker/mirror.ts';
import { NotConnectedError } from '../../../src/broker/notConnectedError.ts';
import { logLines } from '../../support/logLines.ts';
import { settle } from '../../support/passTime.ts';
import { tellStories } from '../../support/script.ts';

/** What a broker answers to a message: that it has it, that the connection was lost, or why it refuses it. */
const answers = (words: string) => {
  if (words === 'takes') return Promise.resolve();
  return Promise.reject(words === 'is lost' ? new NotConnectedError() : new Error(words));
};

/** A mirror of a broker that takes everything, at first. */
class Bench {
  readonly published: string[] = [];
  readonly lines = logLines('info');
  readonly topics = new Map<string, Set<string>>();
  readonly held: ((words: string) => void)[] = [];
  readonly connection = {
    isConnected: true,
    forgetRefusedEvents: () => {},
    publish: (topic: string, payload: string): Promise<void> => {
      this.published.push(`${topic}=${payload}`);
      if (this.answer !== 'waits') return answers(this.answer);
      return new Promise<string>((resolve) => this.held.push(resolve)).then(answers);
    },
  };
  readonly mirror = new Mirror(this.connection as unknown as Connection, this.lines.log);
  answer = 'takes';
  passes = 0;

  want(topic: string, payload: string): void {
    this.topics.set(topic, (this.topics.get(topic) ?? new Set()).add(payload));
    this.mirror.want(topic, payload);
  }

  /** What the mirror says that the broker has: each payload, or `?` where it is not known. */
  get has(): string {
    const { mirror } = this;
    const of = (topic: string, payloads: ReadonlySet<string>) =>
      mirror.isKnown(topic) ? [...payloads].find((payload) => mirror.has(topic, payload)) : '?';
    const all = [...this.topics].filter(([topic]) => mirror.mayHave(topic));
    const size = mirror.size === all.length ? '' : `, ${mirror.size} in all`;
    const refusal = mirror.refusal ? `; refused ${mirror.refusal.topic}` : '';
    return `has ${all.map(([topic, payloads]) => `${topic}=${of(topic, payloads)}`).join(' ')}${size}${refusal}`;
  }
}

tellStories<Bench>(import.meta.url, {
  open: () => new Bench(),
  pass: () => settle(),
  verbs: {
    want: (bench, topic = '', payload = 'x') => bench.want(topic, payload),
    drop: ({ mirror }, topic = '') => mirror.drop(topic),
    found: (bench, topic = '') => {
      bench.topics.set(topic, bench.topics.get(topic) ?? new Set());
      bench.mirror.found(topic);
    },
    forget: ({ mirror }) => mirror.forget(),
    answer: (bench, ...words) => {
      bench.answer = words.join(' ');
    },
    /** The broker answers the message of this number that waits. */
    say: ({ held }, number, ...words) => held[Number(number) - 1]?.(words.join(' ')),
    away: ({ connection }) => Object.assign(connection, { isConnected: false }) && undefined,
    back: ({ connection }) => Object.assign(connection, { isConnected: true }) && undefined,
    /** Many messages, each when there is room. */
    many: (bench, count) => {
      const send = async () => {
        for (; bench.passes < Number(count); bench.passes++) {
          await bench.mirror.waitForRoom();
          bench.mirror.want(`many/${bench.passes}`, 'x');
        }
      };
      void send();
    },
    takes: async (bench) => {
      for (const say of bench.held.splice(0)) say('takes');
      await settle();
    },
  },
  fact: (name) => (bench) => {
    if (name === 'published') return [...bench.published];
    if (name === 'log') return bench.lines.messages;
    return name === 'has' ? bench.has : `${bench.passes} sent`;
  },
});
