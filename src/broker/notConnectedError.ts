/** The broker is unreachable, or the connection ended before it acknowledged. */
export class NotConnectedError extends Error {
  /** Whether the message was on its way: the broker may have got it. */
  readonly wasSent: boolean;

  constructor(message = 'the MQTT broker is offline', wasSent = false) {
    super(message);
    this.name = 'NotConnectedError';
    this.wasSent = wasSent;
  }
}
