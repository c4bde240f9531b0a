import type { Segment } from "./template.js";

/** A place in the address space: the positions of a path and its verb, with what answers each HTTP method there. */
export interface Shape<T> {
  /** Verb without its colon; empty when there is none. */
  readonly verb: string;
  readonly methods: Map<string, T>;
}

/** Shapes by path. */
export interface Router<T> {
  /** The shape of these positions, made when it is new. */
  shape(segments: readonly Segment[], verb: string): Shape<T>;
  /**
   * The shape of a path, given as its raw segments. A literal wins over a variable at every position and `**`
   * comes last, whatever was added first. The cost does not grow with the number of shapes.
   */
  find(path: readonly string[]): Shape<T> | undefined;
}

interface Node<T> {
  readonly literals: Map<string, Node<T>>;
  /** What follows `*`. */
  single: Node<T> | undefined;
  /** What follows `**`: always the end. */
  rest: Node<T> | undefined;
  /** Shapes that end here, by verb. */
  readonly ends: Map<string, Shape<T>>;
}

/** Makes an empty router. */
export function createRouter<T>(): Router<T> {
  const root = createNode<T>();
  return {
    shape: (segments, verb) => shapeAt(segments.reduce(descend<T>, root), verb),
    find: (path) => walk(root, path, 0),
  };
}

function createNode<T>(): Node<T> {
  return { literals: new Map(), single: undefined, rest: undefined, ends: new Map() };
}

function shapeAt<T>(node: Node<T>, verb: string): Shape<T> {
  const found = node.ends.get(verb);
  if (found) return found;
  const shape: Shape<T> = { verb, methods: new Map() };
  node.ends.set(verb, shape);
  return shape;
}

function descend<T>(node: Node<T>, segment: Segment): Node<T> {
  if (segment.kind === "literal") {
    const found = node.literals.get(segment.text) ?? createNode<T>();
    node.literals.set(segment.text, found);
    return found;
  }
  if (segment.kind === "single") {
    node.single ??= createNode<T>();
    return node.single;
  }
  node.rest ??= createNode<T>();
  return node.rest;
}

function walk<T>(node: Node<T>, path: readonly string[], index: number): Shape<T> | undefined {
  const raw = path[index] as string;
  if (index === path.length - 1) return finish(node, raw);
  const literal = node.literals.get(raw);
  const found = literal && walk(literal, path, index + 1);
  if (found) return found;
  if (node.single && raw !== "") {
    const single = walk(node.single, path, index + 1);
    if (single) return single;
  }
  return node.rest && endOfRest(node.rest, path[path.length - 1] as string);
}

/** Matches the last segment: the only one where a colon can be more than text. */
function finish<T>(node: Node<T>, raw: string): Shape<T> | undefined {
  const verb = verbOf(raw);
  const text = verb === "" ? raw : raw.slice(0, -verb.length - 1);
  const literal = node.literals.get(text);
  return (
    (literal && endWith(literal, verb)) ??
    (node.single && endOfSingle(node.single, raw, text, verb)) ??
    (node.rest && endOfRest(node.rest, raw))
  );
}

/** A verb that this position knows is a verb even when nothing stands before it: then there is no value. */
function endOfSingle<T>(single: Node<T>, raw: string, text: string, verb: string): Shape<T> | undefined {
  const known = verb === "" ? undefined : endWith(single, verb);
  if (known) return text === "" ? undefined : known;
  return raw === "" ? undefined : endWith(single, "");
}

function endOfRest<T>(rest: Node<T>, raw: string): Shape<T> | undefined {
  return rest.ends.get(verbOf(raw)) ?? rest.ends.get("");
}

/** `**` may match nothing, so a path can end one position before it. */
function endWith<T>(node: Node<T>, verb: string): Shape<T> | undefined {
  return node.ends.get(verb) ?? node.rest?.ends.get(verb);
}

function verbOf(raw: string): string {
  const colon = raw.lastIndexOf(":");
  return colon < 0 ? "" : raw.slice(colon + 1);
}
