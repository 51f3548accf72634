import { secondMs } from './home.ts';
import { tell } from './words.ts';

tell(import.meta.url, {
  hold: ({ disk }) => disk.hold(() => true),
  release: ({ disk }) => disk.hold(() => false),
  /** Not longer than the bridge waits for a disk. */
  held: (home) => home.until(() => home.disk.waiting > 0, 'the note', 15 * secondMs),
  status: ({ broker }, word = '') => broker.publish('homeassistant/status', word, false),
  lose: ({ disk: { files } }) => files.clear(),
});
