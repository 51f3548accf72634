import type { Plugin } from 'rolldown';

const wanted = '\0debug';

/**
 * The MQTT library's own tracing, left out: asked for by DEBUG it would write passwords to the log, and it costs a
 * twentieth of publishing even while nobody asks.
 */
export const silentDebug: Plugin = {
  name: 'silent-debug',
  resolveId: (id) => (id === 'debug' ? wanted : null),
  load: (id) =>
    id === wanted
      ? `function silent() {}
         silent.enabled = false;
         silent.extend = () => silent;
         module.exports = () => silent;`
      : null,
};
