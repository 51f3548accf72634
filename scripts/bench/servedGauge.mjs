// Preloaded into the bridge after the gauge: answers for a program that does not.
import { answerParent } from './answerParent.mjs';

answerParent(globalThis.gauge);
process.channel?.unref();
// Its parent is gone without a word.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
