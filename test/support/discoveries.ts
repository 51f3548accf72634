import type { Offers } from '../../src/entities/row.ts';
import { type Announcement, announcementOf } from '../../src/homeassistant/announcement.ts';
import type { Discovery } from '../../src/homeassistant/discovery.ts';
import type { Topics } from '../../src/homeassistant/topics.ts';
import type { DeviceView } from '../../src/model/devices.ts';

/** What an announcement says to Home Assistant. */
export function discoveryIn({ bytes }: Announcement, withdrawn: readonly string[] = []): Discovery {
  return JSON.parse(bytes(withdrawn).toString());
}

/** A device's discovery message. */
export function discoveryOf(view: DeviceView, topics: Topics, offers: Offers, version: string): Discovery {
  return discoveryIn(announcementOf(view, topics, offers, version));
}
