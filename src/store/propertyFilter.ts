import { isSameId } from '../model/ids.ts';
import type { Property } from '../model/records.ts';

/** The properties that `filters.properties` selects by name, by id, or by a name with `*`. An empty list selects all. */
export class PropertyFilter {
  readonly #wanted: readonly string[];
  /** By wanted name or id: the ids of the properties that it selects. */
  readonly #selected = new Map<string, readonly string[]>();
  /** Wanted names that no property has any more. The properties that had these names last are still selected. */
  readonly #outdated = new Set<string>();

  constructor(wanted: readonly string[]) {
    this.#wanted = wanted;
  }

  /** Stores the properties of the account. A renamed property stays selected. */
  update(properties: readonly Property[]): void {
    for (const wanted of this.#wanted) {
      const named = properties.filter((each) => isNamed(each, wanted));
      const before = this.#selected.get(wanted) ?? [];
      const renamed = named.length > 0 ? [] : properties.filter(({ id }) => before.includes(id));
      const ids = [...named, ...renamed].map(({ id }) => id);
      if (ids.length > 0) this.#selected.set(wanted, ids);
      else this.#selected.delete(wanted);
      if (renamed.length > 0) this.#outdated.add(wanted);
      else this.#outdated.delete(wanted);
    }
  }

  isSelected(propertyId: string): boolean {
    return !this.isOn || [...this.#selected.values()].some((ids) => ids.includes(propertyId));
  }

  get isOn(): boolean {
    return this.#wanted.length > 0;
  }

  /** Whether the account has a property with any of the wanted names or ids now. */
  get isMatched(): boolean {
    return this.#selected.size > this.#outdated.size;
  }

  /** Wanted names and ids that select nothing. */
  get unmatched(): string[] {
    return this.#wanted.filter((wanted) => !this.#selected.has(wanted));
  }

  /** Wanted names that no property has any more, each with the ids of the properties that had it. */
  get outdated(): [name: string, propertyIds: readonly string[]][] {
    return [...this.#outdated].map((name) => [name, this.#selected.get(name) ?? []]);
  }
}

/** Whether a word of the filter is the id or the name of the property. `*` stands for any part of a name. */
function isNamed({ id, name }: Property, wanted: string): boolean {
  const [first = '', ...others] = wanted.split('*');
  const last = others.pop();
  if (last === undefined || name === null) return isSameId(wanted, id) || wanted === name;
  let at = name.startsWith(first) ? first.length : -1;
  for (const part of others) {
    const foundAt = at < 0 ? -1 : name.indexOf(part, at);
    at = foundAt < 0 ? -1 : foundAt + part.length;
  }
  return at >= 0 && name.endsWith(last) && name.length - last.length >= at;
}

export type ReadonlyFilter = Omit<PropertyFilter, 'update'>;
