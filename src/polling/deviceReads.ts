import type { PollName } from '../model/polls.ts';

/** What was read device by device. A retry of a failed run reads only the devices that this run lacks. */
export class DeviceReads {
  readonly #retries = new Set<PollName>();
  /** By request: the devices that were read or refused since the last run that was no retry. */
  readonly #done = new Map<string, Set<string>>();
  /** By request: the devices that the cloud refuses to show to this account. */
  readonly refused = new Map<string, Set<string>>();

  /** Records that a run of a poll begins, and whether it only retries the one before. */
  begin(poll: PollName, isRetry: boolean): void {
    if (isRetry) this.#retries.add(poll);
    else this.#retries.delete(poll);
  }

  isRetry(poll: PollName | null): boolean {
    return poll !== null && this.#retries.has(poll);
  }

  /** The devices that the present run has to read. */
  due(poll: PollName | null, request: string, ids: readonly string[]): readonly string[] {
    if (!this.isRetry(poll)) this.#done.set(request, new Set());
    return ids.filter((id) => !this.#done.get(request)?.has(id));
  }

  /** Records that a device needs no retry. */
  done(request: string, id: string): void {
    this.#done.get(request)?.add(id);
  }

  setRefused(request: string, id: string, isRefused: boolean): void {
    const refused = this.refused.get(request) ?? new Set();
    this.refused.set(request, refused);
    if (isRefused) refused.add(id);
    else refused.delete(id);
  }
}
