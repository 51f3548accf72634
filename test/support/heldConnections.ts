import { Dispatcher } from 'undici';

/**
 * A dispatcher of undici whose connections open only when the test calls `open()`. It gives the answer that
 * the test sets.
 */
export class HeldConnections extends Dispatcher {
  readonly #opening: (() => void)[] = [];
  readonly #underWay: (() => void)[] = [];
  /** The requests that were written, as `PUT /path`. */
  readonly written: string[] = [];
  /** Whether requests are answered only when the test calls `answer()`. */
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

  /** How many connections wait to be opened. */
  get opening(): number {
    return this.#opening.length;
  }

  /** Opens all waiting connections and writes their requests. */
  open(): void {
    for (const open of this.#opening.splice(0)) open();
  }

  /** Answers all requests that wait for it. */
  answer(): void {
    for (const answer of this.#underWay.splice(0)) answer();
  }

  override async close(): Promise<void> {}
  override async destroy(): Promise<void> {}
}
