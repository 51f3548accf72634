import { median } from '../../measure/statistics.ts';
import type { Figure } from '../figures.ts';
import { Listener } from '../listener.ts';
import { onStage, type Story, startBridge, workOf } from '../stage.ts';

/** Before a run counts, V8 has compiled the same code for any number of valves. */
const warmUps = (sonics: number) => Math.max(2, 8_000 / sonics);

/** The processor time for one valve, in ms, by the number of valves. */
const costs = new Map<number, number>();

/** Measurements, water use, pressure tests and settings are read and published, after the water has been turned on or off. */
export const details: Story = {
  name: 'details',
  sizes: [500, 4_000],
  run: (bench, sonics, isLargest) =>
    onStage(bench, { sonics }, async (stage) => {
      const { cloud, broker } = stage;
      const bridge = startBridge(stage, { readsDetails: true });
      await workOf(stage, bridge);
      const listener = await Listener.start(broker.url);
      const used: number[] = [];
      for (let run = bench.isQuick ? 0 : -warmUps(sonics); run < bench.runs; run++) {
        bench.say(`details: run ${run + 1}`);
        await cloud.ask('turnWater');
        await bridge.ask('watch');
        await listener.publish('sonic2mqtt/bridge/refresh', 'now');
        const { cpuMs } = await workOf(stage, bridge);
        if (run >= 0) used.push(cpuMs / sonics);
      }
      await listener.stop();
      await bridge.stop();
      costs.set(sonics, median(used));
      const figure: Figure = {
        ...{ story: 'details', sonics, what: 'CPU for each valve', unit: 'ms' },
        ...{ bridge: used, raw: null, target: null },
      };
      const fewest = Math.min(...costs.keys());
      if (!isLargest || fewest === sonics) return [figure];
      const growth = median(used) / (costs.get(fewest) ?? Number.NaN);
      const what = `the same, divided by that of ${fewest} valves`;
      return [figure, { ...figure, what, unit: '', bridge: [growth], target: { by: 'value', most: 1.1 } }];
    }),
};
