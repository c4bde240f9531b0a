import { create } from "@bufbuild/protobuf";
import { type Artifact, ArtifactSchema } from "./schema.js";

/** One version of an artifact that may still grow. Versions share their chunks; none of them ever changes. */
export interface GrowingArtifact {
  /** The next version, with one more chunk; constant time when called once, on the newest version. */
  append(chunk: Artifact): GrowingArtifact;
  /** All chunks of this version as one artifact, put together when first asked for. */
  artifact(): Artifact;
}

/** The first version of an artifact. */
export function createGrowingArtifact(first: Artifact): GrowingArtifact {
  return version([first], 1);
}

/** `chunks` is shared by all versions; each sees the first `count` of them. */
function version(chunks: Artifact[], count: number): GrowingArtifact {
  let whole: Artifact | undefined;
  return {
    append(chunk) {
      chunks.push(chunk);
      return version(chunks, count + 1);
    },
    artifact() {
      whole ??= join(chunks.slice(0, count));
      return whole;
    },
  };
}

/**
 * Parts follow one another, metadata merges key by key, extensions are united, and a name or description that a later
 * chunk states replaces the earlier one (specification 4.2.2 leaves all but the parts open).
 */
function join(chunks: readonly Artifact[]): Artifact {
  const [first, ...rest] = chunks as [Artifact, ...Artifact[]];
  if (rest.length === 0) return first;
  return create(ArtifactSchema, {
    artifactId: first.artifactId,
    name: last(chunks, (chunk) => chunk.name),
    description: last(chunks, (chunk) => chunk.description),
    parts: chunks.flatMap((chunk) => chunk.parts),
    extensions: [...new Set(chunks.flatMap((chunk) => chunk.extensions))],
    ...mergedMetadata(chunks),
  });
}

function last(chunks: readonly Artifact[], text: (chunk: Artifact) => string): string {
  const found = chunks.findLast((chunk) => text(chunk) !== "");
  return found ? text(found) : "";
}

/** Built by `fromEntries`, which defines keys: a key `__proto__` stays an ordinary one. */
function mergedMetadata(chunks: readonly Artifact[]): Pick<Artifact, "metadata"> {
  const stated = chunks.flatMap((chunk) => (chunk.metadata ? [chunk.metadata] : []));
  if (stated.length === 0) return {};
  return { metadata: Object.fromEntries(stated.flatMap((metadata) => Object.entries(metadata))) };
}
