import { A2AError } from "../errors.js";
import type { AgentCard, Message } from "../protocol/schema.js";

/**
 * Refuses a message with a part whose stated media type the agent takes in none of its modes or skills:
 * CONTENT_TYPE_NOT_SUPPORTED (specification 3.1.1). Parts that state none are accepted, and so is everything
 * when the card lists no input modes.
 */
export function checkMediaTypes(card: AgentCard, message: Message): void {
  let accepted: ReadonlySet<string> | undefined;
  message.parts.forEach((part, index) => {
    if (part.mediaType === "") return;
    accepted ??= acceptedTypes(card);
    if (accepted.size === 0 || accepts(accepted, essence(part.mediaType))) return;
    throw new A2AError("CONTENT_TYPE_NOT_SUPPORTED", {
      text: `message.parts[${index}].mediaType: the agent does not take this media type.`,
      metadata: { field: `message.parts[${index}].mediaType` },
    });
  });
}

const CACHE = new WeakMap<AgentCard, ReadonlySet<string>>();

function acceptedTypes(card: AgentCard): ReadonlySet<string> {
  let types = CACHE.get(card);
  if (types === undefined) {
    types = new Set(
      [...card.defaultInputModes, ...card.skills.flatMap((skill) => skill.inputModes)].map(essence),
    );
    CACHE.set(card, types);
  }
  return types;
}

/** `Text/Plain; charset=utf-8` is `text/plain`. */
function essence(mediaType: string): string {
  return (mediaType.split(";", 1)[0] ?? "").trim().toLowerCase();
}

function accepts(types: ReadonlySet<string>, type: string): boolean {
  const [top] = type.split("/", 1);
  return types.has(type) || types.has("*/*") || types.has("*") || types.has(`${top}/*`);
}
