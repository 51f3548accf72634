import type { Plugin } from 'rolldown';

const wanted = '\0prom-client';

/** Of prom-client only what writes metrics: its index also loads its default metrics, and OpenTelemetry with them. */
export const leanPromClient: Plugin = {
  name: 'lean-prom-client',
  resolveId: (id) => (id === 'prom-client' ? wanted : null),
  load: (id) =>
    id === wanted
      ? `export { default as Registry } from 'prom-client/lib/registry.js';
         export { default as Gauge } from 'prom-client/lib/gauge.js';
         export { default as Counter } from 'prom-client/lib/counter.js';`
      : null,
};
