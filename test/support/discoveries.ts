import { type Component, type Discovery, planDiscovery } from '../../src/homeassistant/discovery.ts';
import type { PlanContext } from '../../src/homeassistant/plan.ts';
import type { DeviceView } from '../../src/model/devices.ts';
import { withRoot } from './homeAssistantRules.ts';
import { context } from './views.ts';

/** The message without the components that the device lacks, which have only their platform. */
export function withoutStubs<Message extends Pick<Discovery, 'components'>>(discovery: Message): Message {
  const full = Object.entries(discovery.components).filter(([, each]) => Object.keys(each).length > 1);
  return { ...discovery, components: Object.fromEntries(full) };
}

/** The components that the device has by ID, each with the fields that it inherits from the root. */
export function componentsIn(discovery: Discovery): Readonly<Record<string, Component>> {
  const { components, ...root } = withoutStubs(discovery);
  return Object.fromEntries(
    Object.entries(components).map(([id, component]) => [id, withRoot(root, component)]),
  );
}

/** The discovery message of a device, without the components that it lacks. */
export function discoveryOf(view: DeviceView, changes: Partial<PlanContext> = {}): Discovery {
  const { offers, ...maker } = { ...context, ...changes };
  return withoutStubs(JSON.parse(planDiscovery(view, offers, maker).write()));
}
