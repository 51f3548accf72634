/** By picture of docs/tour.md: words that it shows. After a change, take it again: npm run pictures. */
export const tourWords = {
  'all-good': ['All good.', 'No leaks, water on.'],
  closing: ['Kitchen is closing.', 'Closing'],
  offline: ['Hub Hallway hub is offline', 'moved by hand'],
  leak: ['the valve is closed'],
  failed: ['Bathroom did not close.', 'Dismiss failed command'],
  paused: ['shut-off paused until', 'Pause ends', 'Resume'],
} as const;
