import type { Command } from 'commander';
import { systemClock } from '../base/clock.ts';
import { errorMessage } from '../base/errorMessage.ts';
import { sanitize } from '../base/sanitize.ts';
import type { Topics } from '../homeassistant/topics.ts';
import type { DaysOfUsage } from '../model/usageHistory.ts';
import { topicsOf } from '../partOptions.ts';
import { readConfiguration } from './configuration.ts';
import { type CommandContext, exitStatus } from './context.ts';
import { importDays, readWaterTotals } from './historyImport.ts';
import { type HomeAssistantAccess, HomeAssistantSocket, socketUrl } from './homeAssistantSocket.ts';
import { readToken } from './input.ts';
import { rejectionText, withOwnClient } from './ownSession.ts';
import { progressOn } from './progress.ts';
import { type FoundValve, findValves, readHistory } from './valveHistory.ts';

interface HistoryOptions {
  readonly from?: string;
  readonly csv?: true;
  readonly homeAssistant?: string;
  readonly tokenFile?: string;
}

type HistoryOf = (valve: FoundValve) => Promise<DaysOfUsage>;

export async function history(context: CommandContext, command: Command): Promise<number> {
  const { from, csv, homeAssistant, tokenFile } = command.opts<HistoryOptions>();
  if ((homeAssistant === undefined) !== (tokenFile === undefined))
    command.error('--home-assistant and --token-file belong together');
  if (csv && homeAssistant !== undefined) command.error('--csv and --home-assistant exclude each other');
  const access = await readAccess(homeAssistant, tokenFile, context, command);
  const configuration = await readConfiguration(context, { level: 'warn' });
  configuration.secrets.add(access?.token);
  const { print, complain, signal } = context;
  const progress = progressOn(process.stderr);
  return withOwnClient(configuration, signal, async (client) => {
    const valves = await findValves(client, configuration.config, signal);
    if (valves.length === 0) throw new Error('the account has no valve');
    const historyOf: HistoryOf = (valve) => {
      progress.show(`${sanitize(valve.name)} …`);
      return readHistory(client, valve, from, signal).finally(() => progress.erase());
    };
    if (access !== null) return importAll(valves, historyOf, topicsOf(configuration.config), access, context);
    // Everything is read before anything is printed, so that printed data is complete.
    const histories: ValveDays[] = [];
    for (const valve of valves) histories.push({ valve, days: await historyOf(valve) });
    for (const line of csv ? csvOf(histories) : tableOf(histories)) print(line);
    return exitStatus.done;
  }).catch((error: unknown) => {
    complain(`sonic2mqtt: ${signal.aborted ? 'interrupted' : (rejectionText(error) ?? errorMessage(error))}`);
    return exitStatus.failed;
  });
}

async function readAccess(
  url: string | undefined,
  file: string | undefined,
  context: CommandContext,
  command: Command,
): Promise<HomeAssistantAccess | null> {
  if (url === undefined || file === undefined) return null;
  const token = await readToken(file, command, context, 'Put only the token into it');
  return { url: socketUrl(url), token };
}

interface ValveDays {
  readonly valve: FoundValve;
  readonly days: DaysOfUsage;
}

function tableOf(histories: readonly ValveDays[]): string[] {
  return histories.flatMap(({ valve, days }, index) => {
    const line = (left: string, liters: number) => left.padEnd(10) + litersText(liters).padStart(12);
    const sum = [...days.values()].reduce((all, liters) => all + liters, 0);
    const rows = [...days].map(([date, liters]) => line(date, liters));
    const table = ['Date            Litres', ...rows, line(countOf(days.size), sum)];
    const lines = days.size === 0 ? ['The cloud has no day of it.'] : table;
    return [...(index === 0 ? [] : ['']), sanitize(valveLabel(valve)), ...lines];
  });
}

const litersText = (liters: number) =>
  liters.toLocaleString('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 });

function csvOf(histories: readonly ValveDays[]): string[] {
  const rows = histories.flatMap(({ valve: { id, name, property }, days }) =>
    [...days].map(([date, liters]) => [date, liters, id, name, property ?? '']),
  );
  return [['date', 'litres', 'valve_id', 'valve', 'property'], ...rows].map((row) =>
    row.map((field) => csvField(String(field))).join(','),
  );
}

/** A name must not end its field or line, and some names would look like formulas to a spreadsheet. */
function csvField(text: string): string {
  const plain = sanitize(text).replace(/^[=+\-@]/, "'$&");
  return /[",]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

async function importAll(
  valves: readonly FoundValve[],
  historyOf: HistoryOf,
  topics: Topics,
  access: HomeAssistantAccess,
  { print, complain, signal }: CommandContext,
): Promise<number> {
  // Connects first, so that a wrong token is reported before the cloud is read.
  const home = await HomeAssistantSocket.connect(access, signal);
  let status: number = exitStatus.done;
  try {
    const totals = await readWaterTotals(home, topics);
    for (const valve of valves) {
      const total = totals.get(valve.id);
      if (total === undefined) {
        complain(
          `${sanitize(valveLabel(valve))}: Home Assistant has no Water total of it. Is sonic2mqtt running?`,
        );
        status = exitStatus.failed;
        continue;
      }
      const dates = await importDays(home, total, valve, await historyOf(valve), systemClock.now());
      print(`${sanitize(valveLabel(valve))}: ${importedText(dates)}`);
    }
  } finally {
    home.close();
  }
  return status;
}

export function importedText(dates: readonly string[]): string {
  if (dates.length === 0) return 'nothing to import, Home Assistant has every day that the cloud has';
  return `imported ${countOf(dates.length)}, ${dates[0]} to ${dates.at(-1)}`;
}

const countOf = (days: number) => `${days} ${days === 1 ? 'day' : 'days'}`;

export function valveLabel({ name, property }: FoundValve): string {
  return property === null ? name : `${name} (${property})`;
}
