/** Media types and codings, as RFC 9110 sections 8.3 and 12.5 have them. */

/** Media type of A2A over REST. */
export const A2A_JSON = "application/a2a+json";
/** Media type of plain JSON. */
export const JSON_TYPE = "application/json";

/** Media types that a body of JSON may have: `application/json` and all that end in `+json`. */
const JSON_LIKE = /^application\/json$|^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+\+json$/;
const CHARSET = /^charset\s*=\s*"?([^"]*)"?$/i;

/** True for a body that is read as JSON: no type, or a JSON type in UTF-8. Other parameters do not matter. */
export function isJsonType(contentType: string | undefined): boolean {
  if (contentType === undefined || contentType.trim() === "") return true;
  const [type = "", ...parameters] = contentType.split(";").map((part) => part.trim());
  const charsets = parameters.flatMap((parameter) => CHARSET.exec(parameter)?.[1] ?? []);
  return (
    JSON_LIKE.test(type.toLowerCase()) && charsets.every((name) => name.trim().toLowerCase() === "utf-8")
  );
}

/**
 * The media type of an answer in JSON: the one of A2A to a caller that accepts it by name, or that sent it and
 * does not ask for plain JSON instead.
 */
export function answerTypeOf(accept: string | undefined, contentType: string | undefined): string {
  const accepted = qualitiesOf(accept);
  const a2a = accepted.get(A2A_JSON);
  const json = accepted.get(JSON_TYPE) ?? 0;
  if (a2a !== undefined) return a2a > 0 && a2a >= json ? A2A_JSON : JSON_TYPE;
  const sent = contentType?.split(";", 1)[0]?.trim().toLowerCase() === A2A_JSON;
  return sent && json === 0 ? A2A_JSON : JSON_TYPE;
}

/** True when an answer may be compressed with gzip. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined) return false;
  const accepted = qualitiesOf(acceptEncoding);
  return (accepted.get("gzip") ?? accepted.get("x-gzip") ?? accepted.get("*") ?? 0) > 0;
}

/** The members of a weighted list with their quality, 1 when none is stated, 0 when it is malformed. */
function qualitiesOf(header: string | undefined): ReadonlyMap<string, number> {
  const qualities = new Map<string, number>();
  for (const member of header?.split(",") ?? []) {
    const [name = "", ...parameters] = member.split(";").map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    const quality = weight === undefined ? 1 : Number(weight.slice(2));
    if (name !== "") qualities.set(name, Number.isFinite(quality) ? quality : 0);
  }
  return qualities;
}
