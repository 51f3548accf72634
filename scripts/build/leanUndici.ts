import type { Plugin } from 'rolldown';

const wanted = '\0undici';

/**
 * Of undici only what the bridge uses: its index also loads fetch, WebSockets and caches, which cost every start 60 ms
 * and the process 6 MB.
 */
export const leanUndici: Plugin = {
  name: 'lean-undici',
  resolveId: (id) => (id === 'undici' ? wanted : null),
  load: (id) =>
    id === wanted
      ? `export { default as Pool } from 'undici/lib/dispatcher/pool.js';
         export { default as buildConnector } from 'undici/lib/core/connect.js';`
      : null,
};
