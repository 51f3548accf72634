import { Dispatcher } from 'undici';

/** A way to the cloud whose connections open when the test says so, and answer what it says. */
export class HeldConnections extends Dispatcher {
  readonly #opening: (() => void)[] = [];
  readonly #underWay: (() => void)[] = [];
  /** The requests whose bytes were written, as `PUT /path`. */
  readonly written: string[] = [];
  /** Whether a request has to wait for its answer until the test says so. */
  holdsAnswers = false;
  status = 200;

  override dispatch(
    { method, path }: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    const controller: Dispatcher.DispatchController = {
      aborted: false,
      paused: false,
      reason: null,
      abort(reason) {
        if (this.aborted) return;
        Object.assign(controller, { aborted: true });
        handler.onResponseError?.(controller, reason);
      },
      pause() {},
      resume() {},
    };
    const answer = () => {
      if (controller.aborted) return;
      handler.onResponseStart?.(controller, this.status, {});
      handler.onResponseData?.(
        controller,
        Buffer.from('{"id":"s-1","token_details":"new","user_details":{}}'),
      );
      handler.onResponseEnd?.(controller, {});
    };
    this.#opening.push(() => {
      handler.onRequestStart?.(controller, {});
      if (controller.aborted) return;
      this.written.push(`${method} ${path}`);
      if (this.holdsAnswers) this.#underWay.push(answer);
      else answer();
    });
    return true;
  }

  /** How many connections are being opened. */
  get opening(): number {
    return this.#opening.length;
  }

  /** Opens all connections, each of which takes its request. */
  open(): void {
    for (const open of this.#opening.splice(0)) open();
  }

  /** Answers what was written and waits. */
  answer(): void {
    for (const answer of this.#underWay.splice(0)) answer();
  }

  override async close(): Promise<void> {}
  override async destroy(): Promise<void> {}
}
