import type { Home } from './home.ts';
import { tell } from './words.ts';

// What an owner reads first: the summary of the property, the alert of a valve, and when no water ran.

const own = {
  /** Each summary that was published. */
  said: (home: Home) =>
    home
      .published(`property/${home.propertyId}/homeassistant`)
      .map(({ payload }) => `said ${JSON.parse(payload).summary}`),
};

tell(import.meta.url, {}, own);
