/** A map from YAML or from the environment, before its values were checked. */
export type Tree = { readonly [key: string]: unknown };

export type Path = readonly PropertyKey[];

/** Whether a path, with dots between its keys, leads to a place or into it. */
export function isAtOrBelow(path: string, place: string): boolean {
  return `${path}.`.startsWith(`${place}.`);
}

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function valueAt(tree: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Record<PropertyKey, unknown>)[key]
        : undefined,
    tree,
  );
}

/** A copy with another value; undefined removes it. Unchanged if something on the path is not a map. */
export function withValueAt(tree: Tree, path: readonly string[], value: unknown): Tree {
  const [key, ...rest] = path;
  if (key === undefined) return tree;
  if (rest.length > 0) {
    const inner = valueAt(tree, [key]) ?? (value === undefined ? undefined : {});
    return isTree(inner) ? { ...tree, [key]: withValueAt(inner, rest, value) } : tree;
  }
  const others = Object.entries(tree).filter(([each]) => each !== key);
  return Object.fromEntries(value === undefined ? others : [...others, [key, value]]);
}

/** A copy without null, which means that an option is left out. `kept` says where null is a real value. */
export function withoutEmpty(
  tree: Tree,
  kept: (path: readonly string[]) => boolean,
  path: readonly string[] = [],
): Tree {
  const entries = Object.entries(tree)
    .filter(([key, value]) => value !== null || kept([...path, key]))
    .map(([key, value]) => [key, isTree(value) ? withoutEmpty(value, kept, [...path, key]) : value]);
  return Object.fromEntries(entries);
}
