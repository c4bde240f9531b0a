import { A2AError, invalidField } from "../errors.js";

/** Name of the service parameter (specification 3.2.6), in lower case. */
export const VERSION_PARAMETER = "a2a-version";

/** What a request without a version means (specification 3.6.2). */
export const UNSTATED_VERSION = "0.3";

const MAJOR_MINOR = /^(\d{1,4})\.(\d{1,4})(?:\.\d{1,9})?$/;

/** Major.Minor of a version text; a patch part is ignored. Undefined for anything else, a lone major included. */
export function parseVersion(text: string): string | undefined {
  const match = MAJOR_MINOR.exec(text.trim());
  return match ? `${Number(match[1])}.${Number(match[2])}` : undefined;
}

export interface VersionSources {
  /** From header or metadata. */
  readonly header: string | undefined;
  /** From the query string. */
  readonly query: string | undefined;
  /** What the address itself says. */
  readonly implied: string | undefined;
  /** What to take when nothing is stated. */
  readonly assumed: string | undefined;
}

/**
 * The version that a call asks for, as Major.Minor. INVALID_ARGUMENT when header and query differ;
 * VERSION_NOT_SUPPORTED when it is not in `supported`.
 */
export function negotiateVersion(sources: VersionSources, supported: readonly string[]): string {
  if (sources.query === undefined && supported.includes(sources.header ?? ""))
    return sources.header as string;
  const header = oneOf(sources.header) || undefined;
  const query = sources.query?.trim() || undefined;
  if (header !== undefined && query !== undefined && normal(header) !== normal(query)) {
    throw invalidField("A2A-Version", "header and query parameter differ");
  }
  const stated = header ?? query ?? sources.implied ?? sources.assumed ?? UNSTATED_VERSION;
  const version = parseVersion(stated);
  if (version !== undefined && supported.includes(version)) return version;
  throw notSupported(stated, header === undefined && query === undefined, supported);
}

/** A header that came several times is joined with commas: the same version again says nothing new. */
function oneOf(header = ""): string {
  const [first = "", ...others] = header.split(",").map((text) => text.trim());
  return others.every((text) => normal(text) === normal(first)) ? first : header.trim();
}

function normal(text: string): string {
  return parseVersion(text) ?? text;
}

function notSupported(stated: string, unstated: boolean, supported: readonly string[]): A2AError {
  const list = supported.join(", ");
  const text = unstated
    ? `The request states no protocol version, which means ${UNSTATED_VERSION}. Send A2A-Version: ${supported[0]}.`
    : `This protocol version is not supported. Send A2A-Version: ${supported[0]}.`;
  return new A2AError("VERSION_NOT_SUPPORTED", {
    text,
    metadata: { requested: stated.slice(0, 64), supported: list },
  });
}
