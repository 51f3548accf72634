import type { Clock } from '../base/clock.ts';
import type { StatusSnapshot } from '../health/statusSnapshot.ts';
import { Board } from './board.ts';
import { Events } from './events.ts';
import icon from './page/icon.svg?raw';
import style from './page/page.css?raw';
import html from './page/page.html?raw';
import script from './page/page.js?raw';
import { jsonReply, type Question, type Route } from './routes.ts';

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

/** The status page: files, the document that they show, and the stream of its news. */
export function pageRoutes(
  gather: () => StatusSnapshot,
  hide: (text: string) => string,
  clock: Clock,
): Route[] {
  const board = new Board(gather, hide, clock);
  const events = new Events(board, clock);
  return [
    file('/', 'text/html', html),
    file('/page.css', 'text/css', style),
    file('/page.js', 'text/javascript', script),
    file('/icon.svg', 'image/svg+xml', icon),
    {
      path: '/status.json',
      methods: ['GET'],
      answer: (question) => ({
        status: 200,
        contentType: 'application/json; charset=utf-8',
        text: board.withTime(board.text(pageWanted(question))),
        headers,
      }),
    },
    {
      path: '/events',
      methods: ['GET'],
      answer: (question) => {
        if (events.isFull) return jsonReply(503, { status: 'too_many_readers' }, { 'retry-after': '10' });
        return {
          status: 200,
          contentType: 'text/event-stream; charset=utf-8',
          // For nginx: news that it collects are none.
          headers: { ...headers, 'x-accel-buffering': 'no' },
          open: (out) => events.add(out, pageWanted(question)),
        };
      },
    },
  ];
}

function file(path: string, type: string, text: string): Route {
  const reply = { status: 200, contentType: `${type}; charset=utf-8`, text, headers };
  return { path, methods: ['GET'], answer: () => reply };
}

function pageWanted({ query }: Question): number {
  return Number(query.get('page') ?? 1);
}
