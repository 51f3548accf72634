import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { startBridge } from '../support/bridge.ts';
import { httpRequest } from '../support/httpRequest.ts';
import { waitFor } from '../support/waitFor.ts';

const dashboard = readFileSync(new URL('../../grafana/sonic2mqtt.json', import.meta.url), 'utf8');

it('a running bridge has each metric and each label that the dashboard for Grafana uses', async () => {
  const http = { listen: '127.0.0.1:0', device_metrics: true };
  const bridge = await startBridge({ config: { http } });
  const url = `${await bridge.httpUrl()}/metrics`;
  const named = [...new Set(dashboard.match(/\b(?:sonic2mqtt|process|nodejs)_[a-z_]+/g))];
  expect(named.length).toBeGreaterThan(15);
  const text = await waitFor(
    async () => {
      const { text: metrics } = await httpRequest(url);
      return named.every((name) => new RegExp(`^${name}[{ ]`, 'm').test(metrics)) && metrics;
    },
    { what: 'all metrics' },
  );
  const { world } = bridge.cloud;
  for (const id of world.sonics.ids) {
    const { name } = bridge.json(`sonic/${id}`);
    expect(text).toContain(`sonic2mqtt_valve_reachable{id="${id}",name="${name}",property="`);
  }
  // The labels of legends, of sums and of filters.
  const labels = [...dashboard.matchAll(/\{\{(\w+)\}\}|by \((\w+)\)|\{(\w+)=/g)];
  for (const [, ...found] of labels) {
    const label = found.find(Boolean);
    // Prometheus itself adds this one.
    if (label !== 'job') expect(text).toContain(`${label}="`);
  }
});
