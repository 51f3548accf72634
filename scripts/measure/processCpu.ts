import { readFileSync } from 'node:fs';

/** Of the clock in which Linux counts; the same on every machine. */
const tickMs = 10;

/** The processor time that a process has used, in ms; null where the system does not tell. */
export function processCpuMs(pid: number | null): number | null {
  if (pid === null || process.platform !== 'linux') return null;
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // Its name, in parentheses, may hold anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}
