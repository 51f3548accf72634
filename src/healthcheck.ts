// The container's health check: asks the running bridge for a sign of life.
import { askHeartbeat } from './bridge/heartbeat.ts';

try {
  process.stdout.write(`${await askHeartbeat(process.env['HEARTBEAT_SOCKET'] ?? 'sonic2mqtt')}\n`);
} catch (error) {
  process.stderr.write(`the bridge does not answer: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
