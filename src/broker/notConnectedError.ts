/** There is no connection, or it ended before the broker acknowledged the message. */
export class NotConnectedError extends Error {
  /** Whether the message was sent already. Then the broker may have received it. */
  readonly wasSent: boolean;

  constructor(message = 'the MQTT broker is offline', wasSent = false) {
    super(message);
    this.name = 'NotConnectedError';
    this.wasSent = wasSent;
  }
}
