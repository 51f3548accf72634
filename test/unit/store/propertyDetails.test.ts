import { describe, expect, it } from 'vitest';
import { Precedence } from '../../../src/store/precedence.ts';
import { PropertyDetails } from '../../../src/store/propertyDetails.ts';
import { someNotifications, someSettings } from '../../support/views.ts';

describe('settings that the cloud refuses to show', () => {
  const settings = someSettings();
  const notifications = someNotifications();

  it('are none at once where it has never shown any', () => {
    const details = new PropertyDetails(new Precedence());
    expect(details.replace('home', settings, null, 1)).toBe(true);
    expect(details.notifications('home')).toBeNull();
  });

  it('are none once it has refused them twice in a row: a property that is going is refused before it is gone', () => {
    const details = new PropertyDetails(new Precedence());
    details.replace('home', settings, notifications, 1);
    expect(details.replace('home', settings, null, 2)).toBe(false);
    expect(details.notifications('home')).toBe(notifications);
    expect(details.replace('home', settings, null, 3)).toBe(true);
    expect(details.notifications('home')).toBeNull();
  });

  it('stay where it shows them in between', () => {
    const details = new PropertyDetails(new Precedence());
    for (const [startedAt, read] of [notifications, null, notifications, null, undefined].entries()) {
      details.replace('home', settings, read, startedAt);
    }
    expect(details.notifications('home')).toEqual(notifications);
    // That it could not be read says nothing.
    expect(details.replace('home', settings, null, 9)).toBe(true);
    expect(details.notifications('home')).toBeNull();
  });
});
