import type { Plugin } from 'rolldown';

/** Puts this code in the place of a package, whoever imports it. */
function insteadOf(name: string, code: string): Plugin {
  const ours = `\0${name}`;
  return {
    name: `instead-of-${name}`,
    resolveId: (id) => (id === name ? ours : null),
    load: (id) => (id === ours ? code : null),
  };
}

/** What takes the place of packages of which the bridge uses a part. */
export const substitutes: readonly Plugin[] = [
  // Its index also loads fetch, WebSockets and caches, which cost every start 60 ms and the process 6 MB.
  insteadOf(
    'undici',
    `export { default as Pool } from 'undici/lib/dispatcher/pool.js';
     export { default as buildConnector } from 'undici/lib/core/connect.js';`,
  ),
  // The MQTT library's own tracing: asked for by DEBUG it would write user and messages past what hides secrets in the
  // log, and it costs a twentieth of publishing even while nobody asks.
  insteadOf(
    'debug',
    `function silent() {}
     silent.enabled = false;
     silent.extend = () => silent;
     module.exports = () => silent;`,
  ),
];
