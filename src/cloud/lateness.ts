/** With less of its time left a change is not sent: given up at once, nobody would know what became of it. */
const leastShareOfTime = 0.1;

/** Whether too little of its time is left to send a change; both in ms. */
export function isPastSendWindow(leftMs: number, timeoutMs: number): boolean {
  return leftMs < timeoutMs * leastShareOfTime;
}
