// The container's health check: asks the running bridge for its status.
import { errorMessage } from './base/errorMessage.ts';
import { probeLiveness, startingUp } from './health/liveness.ts';

try {
  const status = await probeLiveness(process.env['HEARTBEAT_SOCKET'] ?? 'sonic2mqtt');
  process.stdout.write(`${status}\n`);
  if (status === startingUp) process.exitCode = 1;
} catch (error) {
  process.stderr.write(`the bridge does not answer: ${errorMessage(error)}\n`);
  process.exitCode = 1;
}
