import { randomUUID } from "node:crypto";
import { invalidField } from "../errors.js";

const ID = /^[A-Za-z0-9_.:-]{1,128}$/;
const MAX_MESSAGE_ID_LENGTH = 256;
const CONTROL = /\p{Cc}/u;

/**
 * A fresh id for a task, a context, a message or an event: a UUID of version 7 (RFC 9562). Ids made later sort later,
 * so a store adds them where it added the last ones; 74 random bits keep them from being guessed.
 */
export function newId(): string {
  const time = Date.now().toString(16).padStart(12, "0");
  const random = randomUUID().slice(15);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random}`;
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
