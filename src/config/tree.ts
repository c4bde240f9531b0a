/** Where a value is: keys and list positions from the root. */
export type Path = readonly (string | number)[];

/** An object as it came out of a file, before it is checked. */
export type Tree = { readonly [key: string]: unknown };

/** True for an object that is no list. */
export function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `limits.depth`, `agents[0].card`; the root is the empty text. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, segment) => {
    if (typeof segment === "number") return `${text}[${segment}]`;
    return text === "" ? segment : `${text}.${segment}`;
  }, "");
}

/** The value at a path; undefined when there is none. */
export function valueAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, segment) => {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, segment)) return undefined;
    return (value as Record<string | number, unknown>)[segment];
  }, root);
}

/** A tree with one value at a path of keys. */
export function treeWith(path: readonly string[], value: unknown): Tree {
  return path.reduceRight<unknown>((inner, key) => record([[key, inner]]), value) as Tree;
}

/** Two trees as one: objects are joined, anything else of `over` replaces what is in `under`. */
export function mergeTrees(under: Tree, over: Tree): Tree {
  const merged = Object.entries(over).map(([key, value]): [string, unknown] => {
    const below = Object.hasOwn(under, key) ? under[key] : undefined;
    return [key, isTree(value) && isTree(below) ? mergeTrees(below, value) : value];
  });
  return record([...Object.entries(under), ...merged]);
}

/** An object without a prototype, so that no key has a meaning of its own; the last of equal keys counts. */
export function record(entries: Iterable<readonly [string, unknown]>): Tree {
  const made: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [key, value] of entries) made[key] = value;
  return made;
}

/** A tree with every text in it replaced. */
export function mapTexts(
  value: unknown,
  change: (text: string, path: Path) => unknown,
  path: Path = [],
): unknown {
  if (typeof value === "string") return change(value, path);
  if (Array.isArray(value)) return value.map((each, index) => mapTexts(each, change, [...path, index]));
  if (!isTree(value)) return value;
  return record(Object.entries(value).map(([key, each]) => [key, mapTexts(each, change, [...path, key])]));
}
