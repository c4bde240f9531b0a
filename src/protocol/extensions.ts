import { A2AError } from "../errors.js";
import type { AgentCard } from "./schema.js";

/** Name of the service parameter (specification 3.2.6), in lower case. Also the header that names the active ones. */
export const EXTENSIONS_PARAMETER = "a2a-extensions";

const MAX_EXTENSIONS = 64;
const NONE: readonly string[] = Object.freeze([]);

/** URIs of an `A2A-Extensions` value, without repeats. INVALID_ARGUMENT for more than 64. */
export function parseExtensions(value: string | undefined): readonly string[] {
  if (value === undefined) return NONE;
  const uris = new Set(value.split(",").map((uri) => uri.trim()));
  uris.delete("");
  if (uris.size > MAX_EXTENSIONS) {
    throw new A2AError("INVALID_ARGUMENT", { text: `A2A-Extensions: at most ${MAX_EXTENSIONS} extensions.` });
  }
  return [...uris];
}

/**
 * The requested extensions that the agent offers. EXTENSION_SUPPORT_REQUIRED when the card requires one that
 * was not requested (specification 3.3.4).
 */
export function activateExtensions(card: AgentCard, requested: readonly string[]): readonly string[] {
  const offered = card.capabilities?.extensions;
  if (!offered?.length) return NONE;
  const missing = offered.filter((extension) => extension.required && !requested.includes(extension.uri));
  if (missing.length > 0) {
    const uris = missing.map((extension) => extension.uri).join(", ");
    throw new A2AError("EXTENSION_SUPPORT_REQUIRED", {
      text: `The agent requires extensions that the request did not declare: ${uris}`,
      metadata: { required: uris },
    });
  }
  return offered.map((extension) => extension.uri).filter((uri) => requested.includes(uri));
}
