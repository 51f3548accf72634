import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Mosquitto, startMosquitto } from './mosquitto.ts';
import { temporaryFolder } from './program.ts';

// Debian puts it where only root's PATH looks.
const env = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/usr/local/sbin` };

/** Starts a Mosquitto that lets in these users alone, with their passwords, to what the ACL file grants each. */
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
      // Without a limit Mosquitto 2.0.11 hangs up on a client after it refused it a message.
      'max_queued_messages 100000',
    ],
  });
}
