import { type Component, type Discovery, planDiscovery } from '../../src/homeassistant/discovery.ts';
import type { PlanContext } from '../../src/homeassistant/plan.ts';
import type { DeviceView } from '../../src/model/devices.ts';
import { withRoot } from './homeAssistantRules.ts';
import { context } from './views.ts';

/** The components of a message by id, each with what it takes from the root. */
export function componentsIn(discovery: Discovery): Readonly<Record<string, Component>> {
  const { components, ...root } = discovery;
  return Object.fromEntries(
    Object.entries(components).map(([id, component]) => [id, withRoot(root, component)]),
  );
}

/** A device's discovery message. */
export function discoveryOf(view: DeviceView, changes: Partial<PlanContext> = {}): Discovery {
  const { offers, ...maker } = { ...context, ...changes };
  return JSON.parse(planDiscovery(view, offers, maker).write().text);
}
