import type { JsonValue } from "@bufbuild/protobuf";
import type { Artifact, Part } from "./schema.js";

/** An artifact that may still grow. A class because every artifact of every run makes one. */
export class GrowingArtifact {
  readonly #chunks: Artifact[];
  #whole: Artifact | undefined;

  constructor(first: Artifact) {
    this.#chunks = [first];
  }

  /** Adds a chunk; constant time. What `artifact` returned before stays as it is. */
  append(chunk: Artifact): void {
    this.#chunks.push(chunk);
    this.#whole = undefined;
  }

  /** All chunks as one artifact, put together when first asked for. */
  artifact(): Artifact {
    this.#whole ??= join(this.#chunks);
    return this.#whole;
  }
}

/**
 * Parts follow one another, metadata merges key by key, extensions are united, and a name or description that a later
 * chunk states replaces the earlier one (specification 4.2.2 leaves all but the parts open).
 */
function join(chunks: readonly Artifact[]): Artifact {
  const [first] = chunks as readonly [Artifact];
  if (chunks.length === 1) return first;
  const parts: Part[] = [];
  const extensions = new Set<string>();
  let name = "";
  let description = "";
  for (const chunk of chunks) {
    for (const part of chunk.parts) parts.push(part);
    for (const extension of chunk.extensions) extensions.add(extension);
    name = chunk.name || name;
    description = chunk.description || description;
  }
  return {
    $typeName: "lf.a2a.v1.Artifact",
    artifactId: first.artifactId,
    name,
    description,
    parts,
    extensions: [...extensions],
    ...mergedMetadata(chunks),
  };
}

/** Built by `fromEntries`, which defines keys: a key `__proto__` stays an ordinary one. */
function mergedMetadata(chunks: readonly Artifact[]): Pick<Artifact, "metadata"> {
  const entries: [string, JsonValue][] = [];
  let stated = false;
  for (const { metadata } of chunks) {
    if (metadata === undefined) continue;
    stated = true;
    entries.push(...Object.entries(metadata));
  }
  return stated ? { metadata: Object.fromEntries(entries) } : {};
}
