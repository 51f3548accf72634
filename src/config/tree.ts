/** A map as it was read: from YAML, or built from the environment; nothing is known of its values. */
export type Tree = { readonly [key: string]: unknown };

/** Keys from the outside in. */
export type Path = readonly PropertyKey[];

/** Whether a path, its steps joined by dots, is that of a place, or lies within it. */
export function isAtOrBelow(path: string, place: string): boolean {
  return `${path}.`.startsWith(`${place}.`);
}

/** Whether a value is a map. */
export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at a path; undefined where there is none. */
export function valueAt(tree: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Record<PropertyKey, unknown>)[key]
        : undefined,
    tree,
  );
}

/**
 * The tree with another value at a path; undefined removes it. If the path runs through something that is
 * not a map, the tree stays as it is.
 */
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

/** The tree without its empty values, which mean the same as leaving the option out; `kept` says where null is a value. */
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
