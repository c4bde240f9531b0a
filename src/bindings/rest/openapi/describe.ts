import type { JsonObject } from "@bufbuild/protobuf";

/** Comments by full proto name, paragraphs parted by empty lines. */
export type Comments = ReadonlyMap<string, string>;

/** `description` of an element, or nothing when it has no comment. */
export function describe(comments: Comments, name: string): JsonObject {
  const text = comments.get(name);
  return text === undefined ? {} : { description: withJsonNames(text) };
}

/** `summary` and `description` of an element: the first paragraph, and all of them. */
export function summarize(comments: Comments, name: string): JsonObject {
  const text = comments.get(name);
  if (text === undefined) return {};
  const [first = ""] = withJsonNames(text).split("\n\n", 1);
  return { summary: first.replace(/\.$/, ""), description: withJsonNames(text) };
}

/** Comments speak of fields by their proto names; readers of this document know the JSON names. */
function withJsonNames(text: string): string {
  return text.replace(/`[a-z][a-z0-9_.]*`/g, (name) =>
    name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
  );
}
