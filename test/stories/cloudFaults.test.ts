import type { SimulatedAnswer } from '../../src/simulator/answers.ts';
import type { RequestFault } from '../simulation/virtualCloud.ts';
import type { Home } from './home.ts';
import { tell } from './words.ts';

const html = { 'content-type': 'text/html' };
const page = '<!doctype html><html><body><h1>Hotel Wi-Fi: please sign in</h1></body></html>';
const answer = (status: number, text: string, headers: Record<string, string>): SimulatedAnswer => ({
  ...{ status, headers, text },
});

/** A fault by its name, or an answer by its status, its text, or what it is. */
function troubleOf(what: string): RequestFault | SimulatedAnswer {
  if (what === 'page') return answer(200, page, html);
  if (what === '307') return answer(307, '', { location: 'http://elsewhere.example.com/elsewhere' });
  if (what === '308') return answer(308, '', { location: '/elsewhere' });
  if (/^\d+$/.test(what)) return answer(Number(what), what === '204' ? '' : '{}', {});
  return /^[[{]/.test(what)
    ? answer(200, what, { 'content-type': 'application/json' })
    : (what as RequestFault);
}

/** The summary tells of everything. */
const withoutSummary = (text = '') => text.replace(/"summary":"[^"]*"/, '');

/** What is wrong by the words of health. */
const causeOf = (home: Home) => /: (.*?)\. Retrying/.exec(home.json('bridge/health').reason ?? '')?.[1] ?? '';

const kept = new WeakMap<Home, ReadonlyMap<string, string>>();

tell(
  import.meta.url,
  {
    trouble: (home, what = '') => {
      home.strike = () => troubleOf(what);
    },
    keep: (home) => void kept.set(home, new Map(home.broker.retained)),
    /** The topics of devices with another text than before. */
    changed: (home) => {
      const before = kept.get(home);
      const topics = [...home.broker.retained].filter(
        ([topic, text]) =>
          !topic.startsWith('sonic2mqtt/bridge/') &&
          withoutSummary(text) !== withoutSummary(before?.get(topic)),
      );
      return `changed: ${topics.map(([topic]) => topic.replace('sonic2mqtt/', '')).join(', ')}`;
    },
    failing: (home) => {
      const schedules = Object.entries<{ last_error: string | null }>(home.json('bridge/health').schedules);
      return `failing: ${schedules.filter(([, { last_error: error }]) => error !== null).map(([name]) => name)}`;
    },
    elsewhere: ({ requests }) =>
      `asked: ${[...new Set(requests.map(({ origin }) => origin))]}, elsewhere ${requests.filter(({ target }) => target.includes('/elsewhere')).length} times`,
    expire: (home) => home.simulator.expireTokens(),
    'slow-broker': (home) => {
      home.broker.fault = 'slow';
    },
    /** Whether the new value came before the word that all is available. */
    order: ({ messages }) => {
      const words = messages.map(({ topic, payload }) => `${topic} ${payload}`);
      const value = words.findLastIndex((each) => /\/sonic\/[^/]+ .*"valve":"closed"/.test(each));
      const isFirst = value >= 0 && words.lastIndexOf('sonic2mqtt/bridge/cloud online') > value;
      return isFirst ? 'first the value, then online' : 'wrong';
    },
  },
  {
    health: (home) => `health ${home.json('bridge/health').status}: ${causeOf(home)}`,
    /** Warnings, but for those of the command and of the moment at which everything becomes unavailable. */
    problems: (home) =>
      home
        .linesFrom(0)
        .filter((text) => /^(warn|error)/.test(text) && !/^warn: (Command |No fresh data|Valve )/.test(text))
        .map((text) => text.replace(causeOf(home), 'the same')),
  },
);
