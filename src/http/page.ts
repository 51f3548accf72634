import type { Clock } from '../base/clock.ts';
import type { Overview } from '../bridge/overview.ts';
import { Board } from './board.ts';
import { Events } from './events.ts';
import icon from './page/icon.svg?raw';
import style from './page/page.css?raw';
import html from './page/page.html?raw';
import script from './page/page.js?raw';
import { jsonReply, type Question, type Reply, type Stream } from './routes.ts';

/** Nothing but what is served here is loaded, and only pages of the same origin, as Home Assistant is, may frame it. */
const sources = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self'",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'self'",
};

const headers = {
  'content-security-policy': Object.entries(sources)
    .map((each) => each.join(' '))
    .join('; '),
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
};

/** What is served as it is, by path. */
const files: ReadonlyMap<string, readonly [type: string, text: string]> = new Map([
  ['/', ['text/html', html]],
  ['/page.css', ['text/css', style]],
  ['/page.js', ['text/javascript', script]],
  ['/icon.svg', ['image/svg+xml', icon]],
]);

/** The status page: files, the document that they show, and the stream of its news. */
export class Page {
  readonly #board: Board;
  readonly #events: Events;

  constructor(gather: () => Overview, hide: (text: string) => string, clock: Clock) {
    this.#board = new Board(gather, hide, clock);
    this.#events = new Events(this.#board, clock);
  }

  /** Answers for one of its paths. */
  answer(path: string, { query }: Question): Reply | Stream {
    const [type, file] = files.get(path) ?? [];
    if (type !== undefined && file !== undefined) {
      return { status: 200, contentType: `${type}; charset=utf-8`, text: file, headers };
    }
    const page = Number(query.get('page') ?? 1);
    return path === '/events' ? this.#stream(page) : this.#document(page);
  }

  #document(page: number): Reply {
    const text = this.#board.withTime(this.#board.text(page));
    return { status: 200, contentType: 'application/json; charset=utf-8', text, headers };
  }

  #stream(page: number): Reply | Stream {
    if (this.#events.isFull) return jsonReply(503, { status: 'too_many_readers' }, { 'retry-after': '10' });
    return {
      status: 200,
      contentType: 'text/event-stream; charset=utf-8',
      // For nginx: news that it collects are none.
      headers: { ...headers, 'x-accel-buffering': 'no' },
      open: (out) => this.#events.add(out, page),
    };
  }
}
