import type { Language } from './language.ts';
import type { SettledValve, ValveAction } from './valve.ts';

/** The progress of a valve command, or how it ended. */
export const commandStatuses = [
  'sent',
  'confirmed',
  'not_confirmed',
  'error',
  'refused',
  'superseded',
] as const;
export type CommandStatus = (typeof commandStatuses)[number];

/** A message that asked for a movement. The same object names it each time. */
export interface AskedCommand {
  /** Null for a message that names none. */
  readonly action: ValveAction | null;
  readonly topic: string;
  /** ISO 8601 in UTC. */
  readonly askedAt: string;
}

/** The newest command for a valve. Times are ISO 8601 in UTC. */
interface LastCommand {
  /** Null if the message names no action. */
  readonly action: ValveAction | null;
  readonly asked_at: string;
  readonly status: CommandStatus;
  /** For people; null if there is nothing to explain. */
  readonly reason: string | null;
}

/** A command that the valve, as far as is known, did not carry out. */
interface FailedCommand extends LastCommand {
  readonly action: ValveAction;
  /** How long the valve was read without a movement, in s; null if it was not read for the whole time. */
  readonly waited_s: number | null;
}

/** How long a failed command is shown, in ms, unless a newer command is confirmed. */
export const failureShownMs = 24 * 3_600_000;

/** What moved a valve. */
export const movers = ['command', 'by_hand', 'automatic_shut_off', 'elsewhere'] as const;

/** How a valve came to its position. A key is null if it is not known. */
export interface Movement {
  readonly valve: SettledValve;
  /** ISO 8601 in UTC. */
  readonly at: string | null;
  readonly by: (typeof movers)[number] | null;
  /** The topic of the command. */
  readonly topic: string | null;
  /** The id of the incident that shows what moved the valve. */
  readonly incident_id: string | null;
}

/** The data of a valve that is kept over a restart. */
export interface ValveRecord {
  readonly command: (LastCommand & { readonly topic: string }) | null;
  /** With `at`, the time of the failure in ms since 1970. */
  readonly failed: (FailedCommand & { readonly at: number }) | null;
  readonly movement: Movement | null;
}

type Texts = Readonly<Record<Language, string>>;

/** The sentences about a failed command, by how it ended, its action and the language. */
export const failureTexts: Readonly<
  Record<'not_confirmed' | 'failed', Readonly<Record<ValveAction, Texts>>>
> = {
  not_confirmed: {
    close: {
      en: '{place} did not close.',
      de: '{place}: Das Ventil hat sich nicht geschlossen.',
      fr: '{place}\u00a0: la vanne ne s’est pas fermée.',
      nl: '{place}: de klep is niet dichtgegaan.',
      pl: '{place}: zawór się nie zamknął.',
    },
    open: {
      en: '{place} did not open.',
      de: '{place}: Das Ventil hat sich nicht geöffnet.',
      fr: '{place}\u00a0: la vanne ne s’est pas ouverte.',
      nl: '{place}: de klep is niet opengegaan.',
      pl: '{place}: zawór się nie otworzył.',
    },
  },
  failed: {
    close: {
      en: 'The command to close {place} failed.',
      de: '{place}: Der Befehl zum Schließen ist fehlgeschlagen.',
      fr: '{place}\u00a0: la commande de fermeture a échoué.',
      nl: '{place}: de opdracht om te sluiten is mislukt.',
      pl: '{place}: polecenie zamknięcia nie powiodło się.',
    },
    open: {
      en: 'The command to open {place} failed.',
      de: '{place}: Der Befehl zum Öffnen ist fehlgeschlagen.',
      fr: '{place}\u00a0: la commande d’ouverture a échoué.',
      nl: '{place}: de opdracht om te openen is mislukt.',
      pl: '{place}: polecenie otwarcia nie powiodło się.',
    },
  },
};

/** What to do about a failed command. */
export const failureAdvice: Texts = {
  en: 'Look at the valve, it may have moved. Check its battery.',
  de: 'Nach dem Ventil sehen, es kann sich bewegt haben. Seine Batterie prüfen.',
  fr: 'Regardez la vanne, elle a pu bouger. Vérifiez ses piles.',
  nl: 'Kijk naar de klep, deze kan bewogen zijn. Controleer de batterij.',
  pl: 'Należy obejrzeć zawór, mógł się poruszyć, i sprawdzić jego baterię.',
};

/** Which of the texts describes a failed command. */
export function failureKind({ status }: FailedCommand): keyof typeof failureTexts {
  return status === 'not_confirmed' ? status : 'failed';
}

/** A failed command as text. */
export function failureText(failed: FailedCommand, place: string, language: Language): string {
  // The name is inserted by a function, because it may contain a `$`.
  const sentence = failureTexts[failureKind(failed)][failed.action][language].replace('{place}', () => place);
  return `${sentence} ${failureAdvice[language]}`;
}
