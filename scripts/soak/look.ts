import type { Bridge, Holdings, Memory } from './bridge.ts';

/** What the bridge's process holds at a moment of quiet. */
export interface Figures extends Memory, Omit<Holdings, 'listeners' | 'handles' | 'warnings'> {
  readonly handles: number;
  readonly handlesByKind: Readonly<Record<string, number>>;
  /** Listeners of the process itself, of abort signals, and of sockets to the cloud and the broker. */
  readonly processListeners: number;
  readonly signalListeners: number;
  readonly socketListeners: number;
}

// Polls are always under way: what they hold for the moment is not there in each of several looks.
const looksAtMemory = 6;
const looksAtHoldings = 3;

/** The least of several looks at each figure. */
export async function look({ part }: Bridge): Promise<Figures & { readonly warnings: readonly string[] }> {
  const memories: Memory[] = [];
  for (let count = 0; count < looksAtMemory; count++) memories.push(await part.ask('memory'));
  const holdings: Holdings[] = [];
  for (let count = 0; count < looksAtHoldings; count++) holdings.push(await part.ask('holdings'));
  const least = <T>(looks: readonly T[], figure: (look: T) => number) => Math.min(...looks.map(figure));
  const kinds = [...new Set(holdings.flatMap(({ handles }) => Object.keys(handles)))].sort();
  const handlesByKind = kinds.map(
    (kind) => [kind, least(holdings, ({ handles }) => handles[kind] ?? 0)] as const,
  );
  const isTold = holdings.every(({ descriptors }) => descriptors !== null);
  return {
    heapUsed: least(memories, ({ heapUsed }) => heapUsed),
    rss: least(memories, ({ rss }) => rss),
    external: least(memories, ({ external }) => external),
    arrayBuffers: least(memories, ({ arrayBuffers }) => arrayBuffers),
    handles: handlesByKind.reduce((sum, [, count]) => sum + count, 0),
    handlesByKind: Object.fromEntries(handlesByKind),
    descriptors: isTold ? least(holdings, ({ descriptors }) => descriptors ?? 0) : null,
    timers: least(holdings, ({ timers }) => timers),
    emitters: least(holdings, ({ emitters }) => emitters),
    signals: least(holdings, ({ signals }) => signals),
    promises: least(holdings, ({ promises }) => promises),
    processListeners: least(holdings, ({ listeners }) => listeners.process),
    signalListeners: least(holdings, ({ listeners }) => listeners.signals),
    socketListeners: least(holdings, ({ listeners }) => listeners.sockets),
    warnings: holdings.at(-1)?.warnings ?? [],
  };
}
