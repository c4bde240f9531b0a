import { randomBytes } from "node:crypto";
import { invalidField } from "../errors.js";

const ID = /^[A-Za-z0-9_.:-]{1,128}$/;
const MAX_MESSAGE_ID_LENGTH = 256;
const CONTROL = /\p{Cc}/u;

/**
 * A fresh id for a task, a context, a message or an event: a UUID of version 7 (RFC 9562). Ids made later sort later,
 * so a store adds them where it added the last ones; 74 random bits keep them from being guessed.
 */
export function newId(): string {
  return `${timePrefix(Date.now())}${randomTail()}`;
}

let prefixMs = -1;
let prefix = "";

/** The part of an id that all ids of a millisecond share. */
function timePrefix(nowMs: number): string {
  if (nowMs !== prefixMs) {
    const time = nowMs.toString(16).padStart(12, "0");
    prefix = `${time.slice(0, 8)}-${time.slice(8)}-7`;
    prefixMs = nowMs;
  }
  return prefix;
}

const TAIL_BYTES = 10;
/** Random digits for many ids at once: asking for each id's own would cost as much as ten ids. */
const POOL_IDS = 256;
let pool = "";
let taken = 0;

/** 19 random hexadecimal digits, the variant's two bits among them, as they end an id. */
function randomTail(): string {
  if (taken === pool.length) {
    pool = randomDigits();
    taken = 0;
  }
  const at = taken;
  taken += 2 * TAIL_BYTES;
  return `${pool.slice(at, at + 3)}-${pool.slice(at + 3, at + 7)}-${pool.slice(at + 7, at + 19)}`;
}

/** The variant is in the fourth digit of each tail. */
function randomDigits(): string {
  const bytes = randomBytes(POOL_IDS * TAIL_BYTES);
  for (let at = 1; at < bytes.length; at += TAIL_BYTES) bytes[at] = ((bytes[at] as number) & 0xf3) | 0x08;
  return bytes.toString("hex");
}

/**
 * Checks a task, context or push config id: 1–128 letters, digits, `_ . : -`, but not `.` or `..`, which
 * would not survive in a path. Throws INVALID_ARGUMENT naming `field`.
 */
export function checkId(field: string, value: string): void {
  if (!ID.test(value)) {
    throw invalidField(field, "must be 1 to 128 letters, digits, or any of _ . : -");
  }
  if (value === "." || value === "..") throw invalidField(field, "must not be a dot segment");
}

/** Checks a message id: 1–256 characters, not blank, no control characters. Throws INVALID_ARGUMENT naming `field`. */
export function checkMessageId(field: string, value: string): void {
  if (value.trim() === "") throw invalidField(field, "must not be blank");
  if (isLonger(value, MAX_MESSAGE_ID_LENGTH)) {
    throw invalidField(field, `must be at most ${MAX_MESSAGE_ID_LENGTH} characters`);
  }
  if (CONTROL.test(value)) throw invalidField(field, "must not contain control characters");
}

/** Counts code points, and only where the number of code units leaves it open. */
function isLonger(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  return text.length > 2 * limit || [...text].length > limit;
}
