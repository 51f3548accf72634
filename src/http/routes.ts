import type { Clock } from '../base/clock.ts';
import type { Secrets } from '../base/secrets.ts';
import { version } from '../base/version.ts';
import type { Tone } from '../entities/headline.ts';
import type { Snapshots } from '../health/snapshots.ts';
import type { Side } from '../model/devices.ts';
import type { WebhookReceiver } from '../webhook/webhookReceiver.ts';
import { file, fillTemplate, textsModule } from './files.ts';
import { type Route, send, sendJson } from './httpServer.ts';
import { metricsText, metricsType } from './metrics.ts';
import icon from './page/icon.svg?raw';
import smallIcon from './page/icon-192.png?inline';
import largeIcon from './page/icon-512.png?inline';
import manifest from './page/manifest.json?raw';
import next from './page/next.html?raw';
import style from './page/page.css?raw';
import html from './page/page.html?raw';
import script from './page/page.js?raw';
import { statusDocuments } from './statusDocuments.ts';
import { pageTexts } from './texts.ts';

/*
 * How the HTTP server works. It is loaded only if `http.listen` is set. `httpServer.ts` has the socket, its limits, and
 * the addresses that may connect. This table has everything that is served: the status page (`page/`, a document and a
 * script), its JSON (`status.ts`, with the sentence of `headline.ts`), for which a page that is open asks again and again, health,
 * metrics and the webhook. Each answer comes from a snapshot of the bridge's data, so no visitor causes a request to
 * the cloud.
 */

const webhookPath = '/webhook/';

/** By tone of the headline: the colour of the icon in the browser tab. */
const iconColours: Readonly<Record<Tone, string>> = {
  good: '#0b7a5c',
  moving: '#0b6e99',
  notice: '#0b6e99',
  unknown: '#56656e',
  warning: '#b36b00',
  alarm: '#b3261e',
};
const tones = Object.keys(iconColours) as Tone[];
const usualColour = /#0b6e99/g;

interface PageOptions {
  /** The dashboard for Home Assistant; null if there is none at the moment. */
  readonly dashboard?: () => Promise<string | null>;
}

/** THE ROUTES: everything that is served. */
export function createRoutes(
  snapshots: Snapshots,
  webhook: WebhookReceiver | null,
  clock: Clock,
  secrets: Secrets,
  { dashboard }: PageOptions = {},
): Route[] {
  const hide = (text: string) => secrets.hide(text);
  const documentOf = statusDocuments(() => snapshots.status(), hide, clock);
  const page = html.replace('{{next_steps}}', next);
  const routes: Route[] = [
    file('/', 'text/html', fillTemplate(page, pageTexts)),
    file('/page.css', 'text/css', style),
    file('/page.js', 'text/javascript', script),
    file('/texts.js', 'text/javascript', textsModule(pageTexts)),
    file('/icon.svg', 'image/svg+xml', icon),
    file('/favicon.ico', 'image/svg+xml', icon),
    ...tones.map((tone) => file(`/icon-${tone}.svg`, 'image/svg+xml', tonedIcon(tone))),
    picture('/icon-192.png', smallIcon),
    picture('/icon-512.png', largeIcon),
    file('/manifest.webmanifest', 'application/manifest+json', fillTemplate(manifest, pageTexts)),
    get('/status.json', (response, { searchParams }, { headers }) => {
      const { text, tag } = documentOf(Number(searchParams.get('page') ?? 1));
      // The browser's clock may be wrong, so it receives the time of the bridge, which is no part of the document.
      const answer = headers['if-none-match'] === tag ? '' : `{"now":${clock.now()},"status":${text}}`;
      send(response, answer === '' ? 304 : 200, 'application/json; charset=utf-8', answer, { etag: tag });
    }),
    get('/dashboard.yaml', async (response) => {
      const text = await dashboard?.();
      return text == null
        ? sendJson(response, 503, { status: 'no_dashboard' })
        : send(response, 200, 'text/yaml; charset=utf-8', text);
    }),
    get('/healthz', (response) => sendJson(response, 200, { status: 'ok', ...health() })),
    get('/readyz', (response) => {
      const { cloud, broker } = snapshots.readiness();
      const isReady = cloud.isReady && broker.isReady;
      sendJson(response, isReady ? 200 : 503, { status: isReady ? 'ready' : 'not_ready', ...health() });
    }),
    get('/metrics', (response) => {
      const deliveries = webhook?.counts ?? null;
      send(response, 200, metricsType, metricsText({ figures: snapshots.metrics(), deliveries }));
    }),
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
    const shown = ({ isReady, reason }: Side) => ({
      status: isReady ? 'up' : 'down',
      reason: isReady || reason === null ? null : hide(reason),
    });
    return { version, cloud: shown(cloud), broker: shown(broker) };
  }
}

/** A route for GET, and for HEAD, which receives only the headers. */
function get(path: string, answer: Route['answer']): Route {
  return { path, methods: ['GET', 'HEAD'], answer };
}

/** Serves an image that was imported as a data URL. */
function picture(path: string, url: string): Route {
  const bytes = Buffer.from(url.slice(url.indexOf(',') + 1), 'base64');
  return get(path, (response) => send(response, 200, 'image/png', bytes));
}

function tonedIcon(tone: Tone): string {
  return icon.replaceAll(usualColour, iconColours[tone]);
}
