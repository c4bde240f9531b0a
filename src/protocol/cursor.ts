import { createHmac, timingSafeEqual } from "node:crypto";
import { type A2AError, invalidField } from "../errors.js";

/** Place in a list: the last item of the page before. */
export interface Cursor {
  /** Milliseconds since the epoch. */
  readonly statusMs: number;
  readonly id: string;
}

/** Writes and reads page tokens. Opaque to callers, who can neither make nor change one. */
export interface CursorCodec {
  /** `binding` names everything the token is good for: the caller's scope and the filter. */
  encode(cursor: Cursor, binding: string): string;
  /** Throws INVALID_ARGUMENT on `pageToken` for anything that `encode` did not return for the same binding. */
  decode(token: string, binding: string): Cursor;
}

const TAG_BYTES = 16;
const TIME_BYTES = 8;
/** Far above what the longest id needs; longer ones are refused unread. */
const MAX_TOKEN_LENGTH = 2048;

/** `secret` must outlive the tokens: the store keeps it. */
export function createCursorCodec(secret: Uint8Array): CursorCodec {
  return {
    encode(cursor, binding) {
      const place = writePlace(cursor);
      return Buffer.concat([tagOf(secret, place, binding), place]).toString("base64url");
    },
    decode(token, binding) {
      const bytes = readToken(token);
      const place = bytes.subarray(TAG_BYTES);
      if (!timingSafeEqual(bytes.subarray(0, TAG_BYTES), tagOf(secret, place, binding))) throw notOurs();
      return { statusMs: place.readDoubleBE(0), id: place.toString("utf8", TIME_BYTES) };
    },
  };
}

/** The length goes in first, so that no byte can move between place and binding. */
function tagOf(secret: Uint8Array, place: Uint8Array, binding: string): Buffer {
  const mac = createHmac("sha256", secret).update(`${place.length}:`).update(place).update(binding);
  return mac.digest().subarray(0, TAG_BYTES);
}

function writePlace({ statusMs, id }: Cursor): Buffer {
  const place = Buffer.alloc(TIME_BYTES + Buffer.byteLength(id));
  place.writeDoubleBE(statusMs, 0);
  place.write(id, TIME_BYTES);
  return place;
}

/** Encoding again shows what base64 decoders pass over: foreign characters, padding, loose bits at the end. */
function readToken(token: string): Buffer {
  if (token.length > MAX_TOKEN_LENGTH) throw notOurs();
  const bytes = Buffer.from(token, "base64url");
  if (bytes.length < TAG_BYTES + TIME_BYTES || bytes.toString("base64url") !== token) throw notOurs();
  return bytes;
}

function notOurs(): A2AError {
  return invalidField("pageToken", "is not a token of this list");
}
