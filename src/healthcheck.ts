// The container's health check: asks the running bridge for a sign of life.
import { reasonOf } from './base/reason.ts';
import { askHeartbeat, starting } from './health/heartbeat.ts';

try {
  const status = await askHeartbeat(process.env['HEARTBEAT_SOCKET'] ?? 'sonic2mqtt');
  process.stdout.write(`${status}\n`);
  if (status === starting) process.exitCode = 1;
} catch (error) {
  process.stderr.write(`the bridge does not answer: ${reasonOf(error)}\n`);
  process.exitCode = 1;
}
