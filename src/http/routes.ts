import type { Clock } from '../base/clock.ts';
import type { Secrets } from '../base/secrets.ts';
import { version } from '../base/version.ts';
import type { ComponentStatus } from '../health/readiness.ts';
import type { Snapshots } from '../health/snapshots.ts';
import type { WebhookReceiver } from '../webhook/webhookReceiver.ts';
import { type Route, send, sendJson } from './httpServer.ts';
import { LiveStatus } from './liveStatus.ts';
import icon from './page/icon.svg?raw';
import style from './page/page.css?raw';
import html from './page/page.html?raw';
import script from './page/page.js?raw';
import { textsModule } from './texts.ts';

const get = ['GET', 'HEAD'];
const webhookPath = '/webhook/';

/** THE ROUTES: everything that is served. */
export function createRoutes(
  snapshots: Pick<Snapshots, 'status' | 'readiness' | 'metrics'>,
  webhook: WebhookReceiver | null,
  clock: Clock,
  secrets: Secrets,
): Route[] {
  const hide = (text: string) => secrets.hide(text);
  const live = new LiveStatus(() => snapshots.status(), hide, clock);
  const routes: Route[] = [
    file('/', 'text/html', html),
    file('/page.css', 'text/css', style),
    file('/page.js', 'text/javascript', script),
    file('/texts.js', 'text/javascript', textsModule('en')),
    file('/icon.svg', 'image/svg+xml', icon),
    {
      path: '/status.json',
      methods: get,
      answer: (response, url) =>
        send(response, 200, 'application/json; charset=utf-8', live.document(pageOf(url))),
    },
    { path: '/events', methods: get, answer: (response, url) => live.follow(response, pageOf(url)) },
    {
      path: '/healthz',
      methods: get,
      answer: (response) => sendJson(response, 200, { status: 'ok', ...health() }),
    },
    {
      path: '/readyz',
      methods: get,
      answer: (response) => {
        const { cloud, broker } = snapshots.readiness();
        const isReady = cloud.isWorking && broker.isWorking;
        sendJson(response, isReady ? 200 : 503, { status: isReady ? 'ready' : 'not_ready', ...health() });
      },
    },
    {
      path: '/metrics',
      methods: get,
      answer: async (response) => {
        // Loaded when it is first asked for: not everybody has a Prometheus.
        const { metricsText } = await import('./metrics.ts');
        const figures = snapshots.metrics();
        const { text, type } = await metricsText({ figures, deliveries: webhook?.counts ?? null });
        send(response, 200, type, text);
      },
    },
  ];
  if (webhook) {
    routes.push({
      path: `${webhookPath}*`,
      methods: ['POST', 'PUT'],
      isSecret: true,
      answer: async (response, { pathname }, request) => {
        const { status, body } = await webhook.receive(pathname.slice(webhookPath.length), request);
        sendJson(response, status, body);
      },
    });
  }
  return routes;

  function health(): object {
    const { cloud, broker } = snapshots.readiness();
    const shown = ({ isWorking, reason }: ComponentStatus) => ({
      status: isWorking ? 'up' : 'down',
      reason: isWorking || reason === null ? null : hide(reason),
    });
    return { version, cloud: shown(cloud), broker: shown(broker) };
  }
}

function file(path: string, type: string, text: string): Route {
  return {
    path,
    methods: get,
    answer: (response) => send(response, 200, `${type}; charset=utf-8`, text),
  };
}

function pageOf({ searchParams }: URL): number {
  return Number(searchParams.get('page') ?? 1);
}
