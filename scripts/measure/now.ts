/** The clock of the machine, in ms: all processes that run on it see the same. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
