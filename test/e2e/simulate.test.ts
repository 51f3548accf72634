import { expect, it } from 'vitest';
import { startProgram } from '../support/program.ts';

it('simulate says where it listens and who may sign in, serves, and ends with 0 on SIGTERM', async () => {
  const program = startProgram(['simulate', '--sonics', '37', '--seed', '5']);
  const [, url] = await program.waitForOutput(/listens on (http:\/\/127\.0\.0\.1:\d+)\n/);
  await program.waitForOutput(/Sign in as demo@example\.com with the password demo\n.*sonics: 37/);
  const body = JSON.stringify({ email: 'demo@example.com', password: 'demo' });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/user-service/auth/sign_in/`, { method: 'POST', headers, body });
  expect(await response.json()).toMatchObject({ token_details: expect.any(String) });
  expect(await program.stop('SIGTERM')).toMatchObject({ code: 0 });
  expect(program.stderr).toBe('');
});

it('simulate takes other credentials and a port of its own, and gives way when that is taken', async () => {
  const first = startProgram(['simulate', '--email', 'me@example.org', '--password', 'pass word']);
  await first.waitForOutput(/Sign in as me@example\.org with the password pass word/);
  const [, port = ''] = await first.waitForOutput(/127\.0\.0\.1:(\d+)/);
  const second = startProgram(['simulate', '--port', port]);
  expect(await second.ended()).toMatchObject({ code: 1 });
  expect(second.stderr).toBe(`Port ${port} is in use by another program; choose another with --port\n`);
});

it('simulate names all that is wrong with its options, and ends with 2', async () => {
  const args = ['--port', '70000', '--sonics', 'many', '--fault', 'latancy=5', '--fault', 'hang'];
  const program = startProgram(['simulate', ...args]);
  expect(await program.ended()).toMatchObject({ code: 2 });
  expect(program.stderr).toContain('--port must be a whole number from 0 to 65535; got 70000');
  expect(program.stderr).toContain('--sonics must be a whole number from 0 to 100000; got many');
  expect(program.stderr).toContain('--fault latancy=5: unknown fault latancy; did you mean latency?');
  expect(program.stderr).toContain('See sonic2mqtt simulate --help\n');
  expect(program.stdout).toBe('');
});

it('simulate explains its faults', async () => {
  const program = startProgram(['simulate', '--help']);
  expect(await program.ended()).toMatchObject({ code: 0 });
  expect(program.stdout).toMatch(/rate-limit\[=SECONDS\] +answers 429/);
});
