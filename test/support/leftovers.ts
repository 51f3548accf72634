import type { MqttWatcher } from './mqttWatcher.ts';

/**
 * Publishes retained messages of `count` sonics that no account has, as an older installation might leave
 * them. Each sonic has a discovery message of 20 KB. Each sonic, or only every second one, also has messages
 * at these paths below its topic.
 */
export async function publishLeftovers(
  watcher: MqttWatcher,
  count: number,
  paths: readonly string[],
  isEverySecond = false,
): Promise<void> {
  const availability = [{ topic: 'sonic2mqtt/bridge/state' }];
  const discovery = JSON.stringify({ availability, components: {}, padding: 'x'.repeat(20_000) });
  const leave = (topic: string, text: string) => watcher.publish(topic, text, { retain: true });
  for (let start = 0; start < count; start += 50) {
    const indices = Array.from({ length: Math.min(50, count - start) }, (_, at) => start + at);
    await Promise.all(
      indices.flatMap((index) => [
        leave(`homeassistant/device/sonic2mqtt_old-${index}/config`, discovery),
        ...(isEverySecond && index % 2 === 1
          ? []
          : paths.map((path) => leave(`sonic2mqtt/sonic/old-${index}${path}`, '{}'))),
      ]),
    );
  }
}
