import { describe, expect, it } from 'vitest';
import { runBuilt, startCallableCloud } from '../support/callProgram.ts';
import { startConnectProxy } from '../support/connectProxy.ts';

/** Runs `check` where the cloud has a name that only a proxy can look up. */
async function checkThrough(variables: (cloudPort: number) => Promise<Record<string, string>>) {
  const { simulator, config } = await startCallableCloud();
  const env = await variables(Number(new URL(simulator.url).port));
  const cloud = { ...config.cloud, base_url: 'http://cloud.invalid:8080' };
  return runBuilt(['check'], { config: { ...config, cloud }, env });
}

describe('sonic2mqtt check, if a proxy leads to the cloud,', () => {
  it('goes through it, with its user and password, and hides them', async () => {
    let proxy: Awaited<ReturnType<typeof startConnectProxy>> | undefined;
    const { stdout, stderr } = await checkThrough(async (port) => {
      proxy = await startConnectProxy(port);
      return {
        http_proxy: proxy.url.replace('//', '//me:a-secret-word@'),
        NO_PROXY: 'localhost,.example.com',
      };
    });
    expect(stdout).toMatch(/^OK {3}cloud: proxy: connected to 127\.0\.0\.1:\d+ for cloud\.invalid:8080$/m);
    expect(stdout).toMatch(/^OK {3}cloud: HTTP: cloud\.invalid:8080 answers$/m);
    expect(stdout).toMatch(/^OK {3}account: /m);
    expect(new Set(proxy?.asked.map(({ target }) => target))).toEqual(new Set(['cloud.invalid:8080']));
    const credentials = Buffer.from('me:a-secret-word').toString('base64');
    expect(proxy?.asked[0]?.authorization).toBe(`Basic ${credentials}`);
    expect(stdout + stderr).not.toContain('a-secret-word');
  });

  it('says that the proxy refuses', async () => {
    const { stdout, code } = await checkThrough(async (port) => ({
      HTTP_PROXY: (await startConnectProxy(port, 407)).url,
    }));
    // 407: the proxy wants other credentials.
    expect(stdout).toMatch(
      /^FAIL cloud: HTTP: .*the proxy 127\.0\.0\.1:\d+ rejects the connection to cloud\.invalid:8080 \(status 407\)$/m,
    );
    expect(code).toBe(1);
  });
});
