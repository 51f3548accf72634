import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Mosquitto, startMosquitto } from './mosquitto.ts';
import { temporaryFolder } from './program.ts';

// Debian installs it in a folder that is only in root's PATH.
const env = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/usr/local/sbin` };

/** Starts a Mosquitto that accepts only these users, with their passwords and the rights in the ACL file. */
export async function startGuardedMosquitto(
  passwords: Readonly<Record<string, string>>,
  acl: string,
): Promise<Mosquitto> {
  const folder = temporaryFolder();
  const passwordFile = join(folder, 'passwords');
  writeFileSync(passwordFile, '', { mode: 0o600 });
  for (const [user, password] of Object.entries(passwords)) {
    execFileSync('mosquitto_passwd', ['-b', passwordFile, user, password], { env, stdio: 'pipe' });
  }
  const aclFile = join(folder, 'acl');
  writeFileSync(aclFile, acl);
  return startMosquitto({
    lines: [
      'allow_anonymous false',
      `password_file ${passwordFile}`,
      `acl_file ${aclFile}`,
      // Without a limit Mosquitto 2.0.11 closes the connection of a client after rejecting its message.
      'max_queued_messages 100000',
    ],
  });
}
