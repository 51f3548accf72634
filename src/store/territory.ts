import type { Property } from '../model/records.ts';
import { bridgeName, bridgeOf, isOurs, isShared, type Shard } from '../model/shard.ts';

/** Which properties of the account a bridge shows: those that are selected, and of them its part. */
export class Territory {
  readonly #selection: readonly string[];
  readonly #shard: Shard;
  /** Words of the selection that some property has, be it this bridge's or another's. */
  readonly #matched = new Set<string>();
  /** By such a word, the property that had it last: renamed it is still meant. */
  readonly #meant = new Map<string, string>();

  /** The selection is of names or ids; empty selects all. */
  constructor(selection: readonly string[], shard: Shard) {
    this.#selection = selection;
    this.#shard = shard;
  }

  /** Whether other bridges show other parts of the account. */
  get isShared(): boolean {
    return isShared(this.#shard);
  }

  /** Whether every property is shown here, so that everything is wanted, wherever it is. */
  get isWholeAccount(): boolean {
    return !this.isFiltered && !this.isShared;
  }

  /** Whether only some properties are selected by name or id. */
  get isFiltered(): boolean {
    return this.#selection.length > 0;
  }

  /** Whether any property is. */
  get isFilterMatched(): boolean {
    return this.#matched.size > 0;
  }

  /** Names in the selection that no property has any more, each with the id of the one that had it. */
  get outdated(): [name: string, propertyId: string][] {
    return [...this.#meant].filter(([name]) => !this.#matched.has(name));
  }

  /** Names and ids in the selection that no property has had since they were forgotten. */
  get unmatched(): string[] {
    return this.#selection.filter((wanted) => !this.#matched.has(wanted));
  }

  /** Forgets which names and ids there are: all properties are about to be looked at. */
  forgetMatches(): void {
    this.#matched.clear();
  }

  /**
   * Whether the property is to be shown here: by the filter first, and then by the part that is this bridge's. One that
   * was renamed, as it can be by this bridge itself, does not vanish for that.
   */
  has({ id, name }: Property): boolean {
    const words = this.#selection.filter((wanted) => wanted === id || wanted === name);
    for (const word of words) {
      this.#matched.add(word);
      this.#meant.set(word, id);
    }
    const isMeant = words.length > 0 || [...this.#meant.values()].includes(id);
    return (!this.isFiltered || isMeant) && this.isOurs(id);
  }

  /** Whether what has this id, a property or what is in none, is this bridge's. */
  isOurs(id: string): boolean {
    return isOurs(id, this.#shard);
  }

  /** The bridge whose it is. */
  bridgeOf(id: string): string {
    const { count } = this.#shard;
    return bridgeName({ index: bridgeOf(id, count), count });
  }
}
