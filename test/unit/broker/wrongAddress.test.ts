import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
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

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** What a connection to that address says when its first attempt has failed. */
async function saidOf(url: string, tls: object = {}): Promise<string> {
  const { events } = openConnection(url, { tls: () => ({ ...nothing, ...tls }) });
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
