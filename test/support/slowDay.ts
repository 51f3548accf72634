/** `SLOW_DAY=1 npm run test:e2e`: a test that looks before what it looks for must have come will fail sooner or later. */
const isSlowDay = process.env['SLOW_DAY'] === '1';

/** Of what may be held up, how much is; for how long at most; and how soon after the last time, in ms. */
const [share, longestMs, restMs] = [0.2, 120, 150];

/** Takes steps one after the other, each at once; on a slow day something is held up now and then, and all behind it. */
export function oneByOne(): (step: () => void) => void {
  if (!isSlowDay) return (step) => step();
  const waiting: (() => void)[] = [];
  let isHeldUp = false;
  let restedSince = 0;
  const goOn = () => {
    while (!isHeldUp && waiting.length > 0) {
      if (performance.now() - restedSince < restMs || Math.random() >= share) waiting.shift()?.();
      else {
        isHeldUp = true;
        setTimeout(() => {
          isHeldUp = false;
          restedSince = performance.now();
          goOn();
        }, Math.random() * longestMs);
      }
    }
  };
  return (step) => {
    waiting.push(step);
    goOn();
  };
}
