import type { SimulatedAnswer } from '../../../src/simulator/answers.ts';
import type { SeenRequest } from '../../simulation/virtualCloud.ts';
import { homeSecrets, type RawAnswer } from '../../support/badJson.ts';
import { Home, type TakenMessage } from '../home.ts';

/** Makes another answer of the one that the cloud would give; null leaves it as it is. */
export type Twist = (request: SeenRequest, good: RawAnswer) => RawAnswer | null;

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
        schedules: {},
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
