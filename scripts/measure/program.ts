/** The built program. */
export const mainFile = new URL('../../dist/main.js', import.meta.url);

/** How Node runs the TypeScript of other processes. */
export const typescript: readonly string[] = ['--import', new URL('../typescript.mjs', import.meta.url).href];

/** The environment without what would change the configuration. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('SONIC2MQTT_'));
  return Object.fromEntries(inherited);
}
