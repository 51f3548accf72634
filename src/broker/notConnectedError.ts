/** There is no connection, or it ended before the broker acknowledged the message. */
export class NotConnectedError extends Error {
  constructor(message = 'the MQTT broker is offline') {
    super(message);
    this.name = 'NotConnectedError';
  }
}
