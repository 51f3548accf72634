import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

// It needs aiohttp without declaring it.
const requirements = ['herolabsapi==0.5.1', 'aiohttp<4'];
const script = fileURLToPath(new URL('useHerolabsapi.py', import.meta.url));

/**
 * The folder with the Python client herolabsapi. It is installed outside the checkout at the first call.
 * Rejects if Python, pip or the package is not available.
 */
export async function installHerolabsapi(): Promise<string> {
  const { stdout } = await run('python3', ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])']);
  const directory = join(tmpdir(), `sonic2mqtt-herolabsapi-0.5.1-python${stdout.trim()}`);
  if (existsSync(directory)) return directory;
  const unfinished = await mkdtemp(`${directory}-`);
  try {
    const options = ['--quiet', '--disable-pip-version-check', '--target', unfinished];
    await run('python3', ['-m', 'pip', 'install', ...options, ...requirements], { timeout: 120_000 });
    await rename(unfinished, directory);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    // Another test run may have installed it meanwhile.
    if (!existsSync(directory)) throw error;
  }
  return directory;
}

/** The data that the client read from the cloud. Rejects if the client fails. */
export async function useHerolabsapi(
  directory: string,
  url: string,
  email: string,
  password: string,
): Promise<unknown> {
  const { stdout } = await run('python3', [script, url, email, password], {
    env: { ...process.env, PYTHONPATH: directory, PYTHONDONTWRITEBYTECODE: '1' },
    timeout: 30_000,
  });
  return JSON.parse(stdout);
}
