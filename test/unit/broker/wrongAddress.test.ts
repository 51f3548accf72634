import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openConnection } from '../../support/brokers.ts';
import { mosquittoAvailable, startMosquitto } from '../../support/mosquitto.ts';
import { temporaryFolder } from '../../support/program.ts';
import { waitFor } from '../../support/waitFor.ts';

const nothing = { ca: undefined, cert: undefined, key: undefined, rejectUnauthorized: true };

/** A certificate for that name that nobody has signed but itself, and its key. */
function certificateFor(name: string): { key: string; cert: string } {
  const folder = temporaryFolder();
  const names = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', 'key'];
  execFileSync('openssl', ['req', '-x509', ...key, '-out', 'cert', '-days', '2', ...names], {
    cwd: folder,
    stdio: 'pipe',
  });
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  return { key: read('key'), cert: read('cert') };
}

/** A certificate of an intermediate authority, which is missing, and the authority that has signed that one. */
function certificateChain(): { authority: string; leaf: { key: string; cert: string } } {
  const folder = temporaryFolder();
  const run = (...words: string[]) => execFileSync('openssl', words, { cwd: folder, stdio: 'pipe' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  writeFileSync(join(folder, 'ca.ext'), 'basicConstraints=critical,CA:TRUE');
  run('req', '-x509', ...key, '-keyout', 'root.key', '-out', 'root.crt', '-subj', '/CN=root');
  for (const [name, issuer] of [
    ['middle', 'root'],
    ['leaf', 'middle'],
  ]) {
    run('req', ...key, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
    const signing = ['-CA', `${issuer}.crt`, '-CAkey', `${issuer}.key`, '-CAcreateserial'];
    const extensions = name === 'middle' ? ['-extfile', 'ca.ext'] : [];
    run('x509', '-req', '-in', `${name}.csr`, ...signing, '-out', `${name}.crt`, ...extensions);
  }
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  return { authority: read('root.crt'), leaf: { key: read('leaf.key'), cert: read('leaf.crt') } };
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** What a connection to that address says when its first attempt has failed. */
async function saidOf(url: string, tls: object = {}): Promise<string> {
  const { events } = openConnection(url, { tls: async () => ({ ...nothing, ...tls }) });
  await waitFor(() => events.length > 0, { what: 'the attempt to fail' });
  return events[0] ?? '';
}

describe('an address without such a broker is explained in a sentence', () => {
  const elsewhere = certificateFor('elsewhere.example');

  it('where it speaks TLS', async () => {
    const port = await listening(createTlsServer(elsewhere));
    expect(await saidOf(`mqtts://localhost:${port}`, { ca: elsewhere.cert })).toMatch(
      /does not match certificate/,
    );
    expect(await saidOf(`mqtts://127.0.0.1:${port}`)).toMatch(
      /self[- ]signed certificate\. Check mqtt\.ca_file/,
    );
    expect(await saidOf(`mqtt://127.0.0.1:${port}`)).toMatch(
      /does not use MQTT|the connection was (reset|closed) before any answer\. Check the port/,
    );
  });

  it('where it has no WebSocket at the path', async () => {
    const port = await listening(
      createHttpServer().on('upgrade', (_request, socket) =>
        socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n'),
      ),
    );
    expect(await saidOf(`ws://127.0.0.1:${port}/wrong`)).toBe(
      'failed: the server has no WebSocket for MQTT at this path (HTTP 404). Check the path and the port in mqtt.url',
    );
  });

  it('where it leaves out a certificate of its chain', async () => {
    const { authority, leaf } = certificateChain();
    const port = await listening(createTlsServer(leaf));
    expect(await saidOf(`mqtts://127.0.0.1:${port}`, { ca: authority })).toBe(
      'failed: the broker does not send its whole certificate chain, or mqtt.ca_file is not its authority',
    );
  });

  it('where it does not use TLS', async () => {
    // As Mosquitto does where it is spoken to with TLS on its plain port.
    const curt = await listening(
      createTcpServer((socket) => socket.once('data', () => socket.resetAndDestroy())),
    );
    expect(await saidOf(`mqtts://127.0.0.1:${curt}`)).toMatch(
      /the connection was reset before any answer\. Check the port, mqtt:\/\/ or mqtts:\/\/, and mqtt\.username and mqtt\.password/,
    );
    const other = await listening(createTcpServer((socket) => socket.end('no TLS\r\n')));
    expect(await saidOf(`mqtts://127.0.0.1:${other}`)).toMatch(/does not use TLS/);
  });

  it.skipIf(!mosquittoAvailable())(
    'where it wants a client certificate, and does not take the one there is',
    async () => {
      const lines = ['require_certificate true', 'use_identity_as_username true'];
      const { url, caFile } = await startMosquitto({ tls: true, lines });
      const ca = readFileSync(caFile ?? '', 'utf8');
      expect(await saidOf(url, { ca })).toContain(
        'the broker needs a client certificate. Set mqtt.cert_file and mqtt.key_file',
      );
      expect(await saidOf(url, { ca, ...certificateFor('stranger') })).toContain(
        'the broker rejects the certificate in mqtt.cert_file',
      );
    },
  );
});
