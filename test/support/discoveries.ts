import { type Component, type Discovery, planDiscovery } from '../../src/homeassistant/discovery.ts';
import type { PlanContext } from '../../src/homeassistant/plan.ts';
import type { DeviceView } from '../../src/model/devices.ts';
import { withRoot } from './homeAssistantRules.ts';
import { context } from './views.ts';

/** The components of a message by ID, each with the fields that it inherits from the root. */
export function componentsIn(discovery: Discovery): Readonly<Record<string, Component>> {
  const { components, ...root } = discovery;
  return Object.fromEntries(
    Object.entries(components).map(([id, component]) => [id, withRoot(root, component)]),
  );
}

/** The discovery message of a device. */
export function discoveryOf(view: DeviceView, changes: Partial<PlanContext> = {}): Discovery {
  const { offers, ...maker } = { ...context, ...changes };
  return JSON.parse(planDiscovery(view, offers, maker).write());
}
