import { version } from '../base/version.ts';
import type { ComponentStatus, Readiness } from '../health/readiness.ts';
import { jsonReply, type Route } from './routes.ts';

/**
 * Whether the process works, which it does as long as it answers; and whether both of its halves do, so that what it
 * shows is the present. Reasons are shown with secrets hidden.
 */
export function healthRoutes(look: () => Readiness, hide: (text: string) => string): Route[] {
  const shown = ({ isWorking, reason }: ComponentStatus) => ({
    status: isWorking ? 'up' : 'down',
    reason: isWorking || reason === null ? null : hide(reason),
  });
  const reply = (status: number, word: string, { cloud, broker }: Readiness) =>
    jsonReply(status, { status: word, version, cloud: shown(cloud), broker: shown(broker) });
  return [
    { path: '/healthz', methods: ['GET'], answer: () => reply(200, 'ok', look()) },
    {
      path: '/readyz',
      methods: ['GET'],
      answer: () => {
        const readiness = look();
        const isReady = readiness.cloud.isWorking && readiness.broker.isWorking;
        return isReady ? reply(200, 'ready', readiness) : reply(503, 'not_ready', readiness);
      },
    },
  ];
}
