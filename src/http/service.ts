import type { Random } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { Secrets } from '../base/secrets.ts';
import type { Snapshots } from '../health/snapshots.ts';
import { WebhookReceiver, type WebhookReceiverOptions } from '../webhook/webhookReceiver.ts';
import { among } from './addresses.ts';
import { healthRoutes } from './health.ts';
import { Listener, type ListenerOptions } from './listener.ts';
import type { MetricsSource } from './metrics.ts';
import { pageRoutes } from './page.ts';
import type { Route } from './routes.ts';

export interface HttpOptions extends Pick<ListenerOptions, 'host' | 'port' | 'onProblem'> {
  /** Addresses and networks that are answered; empty: everybody. */
  readonly onlyFrom: readonly string[];
  /** Null without a secret: then there is no webhook. */
  readonly webhook: WebhookReceiverOptions | null;
}

/** All that is served over HTTP; a page more is a route more. */
export function createHttp(
  { webhook: webhookOptions, onlyFrom, ...address }: HttpOptions,
  snapshots: Snapshots,
  clock: Clock,
  random: Random,
  log: Log,
  secrets: Secrets,
): Listener {
  const webhook = webhookOptions && new WebhookReceiver(webhookOptions, clock, log);
  const hide = (text: string) => secrets.hide(text);
  const routes: Route[] = [
    ...pageRoutes(() => snapshots.status(), hide, clock),
    ...healthRoutes(() => snapshots.readiness(), hide),
    metricsRoute(() => ({ figures: snapshots.metrics(), deliveries: webhook?.counts ?? null })),
    ...(webhook ? [webhook.route] : []),
  ];
  return new Listener({ ...address, routes, isWelcome: among(onlyFrom) }, clock, random, log);
}

/** Loaded when it is first asked for: not everybody has a Prometheus. */
function metricsRoute(source: () => MetricsSource): Route {
  return {
    path: '/metrics',
    methods: ['GET'],
    answer: async () => {
      const { metricsText } = await import('./metrics.ts');
      const { text, type } = await metricsText(source());
      return { status: 200, contentType: type, text };
    },
  };
}
