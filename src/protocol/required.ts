import { type DescField, type DescMessage, type MessageShape, ScalarType } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import { A2AError, type FieldViolation } from "../errors.js";
import { type Chosen, type Fields, isPlainStruct, isRequired, memoize } from "./json/descriptors.js";
import { pathOf, step } from "./json/path.js";
import { type Part, PartSchema } from "./schema.js";

/** What a check takes for granted. */
export interface RequiredOptions {
  /**
   * Let REQUIRED strings, lists and maps be empty, as in an agent's card (the specification's sample card has
   * an empty description). Default false.
   */
  readonly allowEmpty?: boolean;
}

/** More than this says nothing new. */
const MOST_VIOLATIONS = 20;

/**
 * What a message lacks, at any depth: REQUIRED fields that are unset or empty, parts without content, and
 * numbers in a Struct or Value that JSON cannot express. Empty when it is complete; at most 20.
 */
export function requiredViolations<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
  options: RequiredOptions = {},
): FieldViolation[] {
  const found: FieldViolation[] = [];
  const walk: Walk = { found, steps: [], allowEmpty: options.allowEmpty === true };
  checkOf(schema).check(message, walk);
  return found;
}

/** Throws INVALID_ARGUMENT naming all that `requiredViolations` finds; returns when it finds nothing. */
export function checkRequired<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
  options: RequiredOptions = {},
): void {
  const violations = requiredViolations(schema, message, options);
  if (violations.length === 0) return;
  const text = violations.map(({ field, description }) => `${field} ${description}`).join(", ");
  throw new A2AError("INVALID_ARGUMENT", { text: `${text}.`, violations });
}

interface Walk {
  readonly found: FieldViolation[];
  /** Names and indexes on the way here; most walks end without a path, so none is made before something is found. */
  readonly steps: (string | number)[];
  readonly allowEmpty: boolean;
}

type Check = (value: unknown, walk: Walk) => void;

function report({ found, steps }: Walk, description: string): void {
  if (found.length < MOST_VIOLATIONS) found.push({ field: pathOf(steps.map(step)), description });
}

/** Runs a check one step further down. */
function below(walk: Walk, name: string | number, check: Check, value: unknown): void {
  walk.steps.push(name);
  check(value, walk);
  walk.steps.pop();
}

/** The check of a message type, compiled on first use. */
const checkOf = memoize<{ check: Check }>(
  () => ({ check: () => undefined }),
  (desc, made) => {
    made.check = compile(desc);
  },
);

/** True when something in the message type, or below it, can be missing. */
function hasRules(desc: DescMessage, seen: Set<DescMessage> = new Set()): boolean {
  if (seen.has(desc)) return false;
  seen.add(desc);
  if (desc.typeName === "google.protobuf.Value" || desc.typeName === PartSchema.typeName) return true;
  return desc.fields.some((field) => isRequired(field) || (field.message && hasRules(field.message, seen)));
}

function compile(desc: DescMessage): Check {
  if (desc.typeName === "google.protobuf.Value") return checkValue;
  const checks = desc.fields.flatMap((field) => [requiredCheck(field), nestedCheck(field)]);
  if (desc.typeName === PartSchema.typeName) checks.push(checkPart);
  const present = checks.filter((check) => check !== undefined);
  return (message, walk) => {
    for (const check of present) check(message, walk);
  };
}

/** The contract marks no oneof REQUIRED, yet a part without content says nothing (specification 4.1.6). */
function checkPart(part: unknown, walk: Walk): void {
  if ((part as Part).content.case === undefined) report(walk, "must have one of text, raw, url, data");
}

/** The check that a REQUIRED field is there; undefined for other fields, and for numbers, whose 0 is a value. */
function requiredCheck(field: DescField): Check | undefined {
  const missing = isRequired(field) ? missingTest(field) : undefined;
  if (!missing) return undefined;
  const { jsonName, localName } = field;
  const canBeEmpty = field.fieldKind !== "message" && field.fieldKind !== "enum";
  const description = canBeEmpty ? "must not be empty" : "is required";
  return (message, walk) => {
    if (canBeEmpty && walk.allowEmpty) return;
    if (!missing((message as Fields)[localName])) return;
    walk.steps.push(jsonName);
    report(walk, description);
    walk.steps.pop();
  };
}

function missingTest(field: DescField): ((value: unknown) => boolean) | undefined {
  switch (field.fieldKind) {
    case "message":
      return (value) => value === undefined;
    case "enum":
      return (value) => value === undefined || value === 0;
    case "list":
      return (value) => (value as readonly unknown[]).length === 0;
    case "map":
      return (value) => Object.keys(value as Fields).length === 0;
    default: {
      const hasLength = field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES;
      return hasLength ? (value) => (value as string | Uint8Array | undefined)?.length === 0 : undefined;
    }
  }
}

/** The check of what lies below a field; undefined when nothing there can be missing. */
function nestedCheck(field: DescField): Check | undefined {
  const { message: desc, localName } = field;
  if (!desc || !hasRules(desc)) return undefined;
  // A type that contains itself is still being compiled here: look its check up when it runs.
  const target = checkOf(desc);
  const check: Check = isPlainStruct(field) ? checkJson : (value, walk) => target.check(value, walk);
  const nested =
    field.fieldKind === "list" ? eachItem(check) : field.fieldKind === "map" ? eachEntry(check) : check;
  const name = field.jsonName;
  const oneof = field.oneof?.localName;
  return (message, walk) => {
    const value =
      oneof === undefined
        ? (message as Fields)[localName]
        : chosen((message as Fields)[oneof] as Chosen, localName);
    if (value !== undefined) below(walk, name, nested, value);
  };
}

function chosen(member: Chosen, localName: string): unknown {
  return member.case === localName ? member.value : undefined;
}

function eachItem(check: Check): Check {
  return (items, walk) => {
    const list = items as readonly unknown[];
    for (let index = 0; index < list.length; index++) below(walk, index, check, list[index]);
  };
}

function eachEntry(check: Check): Check {
  return (map, walk) => {
    for (const [key, item] of Object.entries(map as Fields)) below(walk, key, check, item);
  };
}

/** JSON has no NaN and no infinity; only protobuf can carry one here. */
function checkValue(value: unknown, walk: Walk): void {
  if (!isFiniteValue(value as Value)) findValue(value, walk);
}

function isFiniteValue({ kind }: Value): boolean {
  if (kind.case === "numberValue") return Number.isFinite(kind.value);
  if (kind.case === "listValue") return kind.value.values.every(isFiniteValue);
  return kind.case !== "structValue" || Object.values(kind.value.fields).every(isFiniteValue);
}

function findValue(value: unknown, walk: Walk): void {
  const { kind } = value as Value;
  if (kind.case === "numberValue" && !Number.isFinite(kind.value)) report(walk, "must be a finite number");
  else if (kind.case === "listValue") eachItem(findValue)(kind.value.values, walk);
  else if (kind.case === "structValue") eachEntry(findValue)(kind.value.fields, walk);
}

/** The same for a Struct field, which is a plain object. */
function checkJson(value: unknown, walk: Walk): void {
  if (!isFiniteJson(value)) findJson(value, walk);
}

function isFiniteJson(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  return Object.values(value).every(isFiniteJson);
}

function findJson(value: unknown, walk: Walk): void {
  if (typeof value === "number" && !Number.isFinite(value)) report(walk, "must be a finite number");
  else if (Array.isArray(value)) eachItem(findJson)(value, walk);
  else if (typeof value === "object" && value !== null) eachEntry(findJson)(value, walk);
}
