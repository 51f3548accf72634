import type { SimulatedAnswer } from '../../../src/simulator/answers.ts';
import type { SeenRequest } from '../../simulation/virtualCloud.ts';
import { Home, type TakenMessage } from '../home.ts';

/** What answers in the place of the cloud. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  /** The connection breaks behind the body. */
  readonly isCut?: boolean;
}

/** Makes another answer of the one that the cloud would give; null leaves it as it is. */
export type Twist = (request: SeenRequest, good: RawAnswer) => RawAnswer | null;

/** What nobody may read: each long enough to be no word of the data. */
export const homeSecrets = {
  password: 'clöud "pass\\word" 1',
  brokerPassword: 'brok€r & secret+2',
  webhookSecret: 'webhook-secret-3',
} as const;

const budget = 160;

/** A home whose cloud can lie. */
export class HostileHome extends Home {
  /** Tokens that the cloud has given. */
  readonly tokens = new Set<string>();
  /** What the bridge has handed to its broker. */
  readonly handedOver: TakenMessage[] = [];
  /** The lines of the log, as JSON. */
  readonly log: string[] = [];
  readonly budget = budget;
  twist: Twist = () => null;

  constructor() {
    const { password, brokerPassword, webhookSecret } = homeSecrets;
    super({
      begins: '2026-06-15T10:00:00Z',
      cloud: { seed: 7, password, properties: 1, signals: 1, sonics: 2, wifiSonics: 1 },
      config: {
        cloud: { password, max_requests_per_minute: budget },
        mqtt: { username: 'bridge', password: brokerPassword },
        http: { webhook: { secret: webhookSecret } },
        log: { level: 'trace' },
      },
    });
    this.world.openIncident({ type: 'long_flow_alert', sonicId: this.sonicId });
    this.onHandedOver = (message) => void this.handedOver.push(message);
    this.onLogged = (line) => void this.log.push(line);
    this.strike = (request) => (good) => {
      this.#learnToken(request, good);
      const { text, ...rest } = good;
      const twisted = this.twist(request, { ...rest, body: text });
      if (!twisted) return good;
      const { body, ...others } = twisted;
      return { ...others, text: body };
    };
  }

  /** Starts the bridge and lets it show its devices. */
  override async start(): Promise<void> {
    this.bridge.start();
    await this.pass(5_000);
  }

  #learnToken({ operation }: SeenRequest, { text }: SimulatedAnswer): void {
    if (operation !== 'sign_in' && operation !== 'refresh_token') return;
    const token = /"token_details":"([^"]+)"/.exec(text)?.[1];
    if (token !== undefined) this.tokens.add(token);
  }
}
