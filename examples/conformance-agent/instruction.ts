import { setTimeout as wait } from "node:timers/promises";
import { createFileRegistry, fromBinary, fromJson, toJson } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { complete, fail, type Message, type Part, type Reaction, type Work, working } from "switchyard/agent";

const MEDIA_TYPE = "application/x-protobuf";
const FILENAME = "instruction.bin";

/** `itk.Instruction` as its JSON form has it: exactly one member, none in an empty one. */
interface Instruction {
  readonly callAgent?: object;
  readonly returnResponse?: { readonly response?: string; readonly holdTask?: boolean };
  readonly steps?: { readonly instructions?: readonly Instruction[] };
}

const STRING = "TYPE_STRING";
const BOOL = "TYPE_BOOL";

const camelCase = (name: string) => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
const field = (name: string, number: number, type: string, more: object = {}) => ({
  name,
  jsonName: camelCase(name),
  number,
  type,
  ...more,
});
const message = (name: string, number: number, type: string, more: object = {}) =>
  field(name, number, "TYPE_MESSAGE", { typeName: `.itk.${type}`, ...more });

/** The contract of the instruction, as protoc would hand it over. */
const FILE: FileDescriptorProto = fromJson(FileDescriptorProtoSchema, {
  name: "itk/instruction.proto",
  package: "itk",
  syntax: "proto3",
  messageType: [
    {
      name: "Instruction",
      oneofDecl: [{ name: "step" }],
      field: [
        message("call_agent", 1, "CallAgent", { oneofIndex: 0 }),
        message("return_response", 2, "ReturnResponse", { oneofIndex: 0 }),
        message("steps", 3, "SeriesOfSteps", { oneofIndex: 0 }),
      ],
    },
    {
      name: "CallAgent",
      oneofDecl: [{ name: "behavior" }],
      field: [
        field("transport", 1, STRING),
        field("agent_card_uri", 2, STRING),
        message("instruction", 3, "Instruction"),
        field("streaming", 4, BOOL),
        message("send_message", 5, "SendMessage", { oneofIndex: 0 }),
        message("push_notification", 6, "PushNotification", { oneofIndex: 0 }),
        message("resubscribe", 7, "Resubscribe", { oneofIndex: 0 }),
      ],
    },
    { name: "ReturnResponse", field: [field("response", 1, STRING), field("hold_task", 2, BOOL)] },
    {
      name: "SeriesOfSteps",
      field: [
        message("instructions", 1, "Instruction", { label: "LABEL_REPEATED" }),
        field("response_generator", 2, "TYPE_ENUM", { typeName: ".itk.ResponseGenerator" }),
      ],
    },
    { name: "SendMessage" },
    { name: "PushNotification", field: [field("url", 1, STRING)] },
    { name: "Resubscribe" },
  ],
  enumType: [
    {
      name: "ResponseGenerator",
      value: [
        { name: "RESPONSE_GENERATOR_UNSPECIFIED", number: 0 },
        { name: "RESPONSE_GENERATOR_CONCAT", number: 1 },
      ],
    },
  ],
});

const INSTRUCTION = createFileRegistry(FILE, () => undefined).getMessage("itk.Instruction");
if (INSTRUCTION === undefined) throw new Error("The contract has no Instruction.");
const SCHEMA = INSTRUCTION;

/** The part of a message that is marked as an instruction. */
export function findInstruction({ parts }: Message): Part | undefined {
  return parts.find(({ mediaType, filename }) => mediaType === MEDIA_TYPE || filename === FILENAME);
}

/** Undefined when the part holds no instruction. */
function decode({ content }: Part): Instruction | undefined {
  try {
    const bytes = content.case === "text" ? Buffer.from(content.value, "base64") : content.value;
    return bytes instanceof Uint8Array
      ? (toJson(SCHEMA, fromBinary(SCHEMA, bytes)) as Instruction)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Texts of an instruction in their order; whether its task is to be held; or why it cannot be carried out. */
interface Result {
  readonly texts: readonly string[];
  readonly hold: boolean;
  readonly problem?: string;
}

function carryOut({ returnResponse, steps, callAgent }: Instruction, withinSteps: boolean): Result {
  if (returnResponse !== undefined) {
    return { texts: [returnResponse.response ?? ""], hold: withinSteps && returnResponse.holdTask === true };
  }
  if (callAgent !== undefined)
    return { texts: [], hold: false, problem: "This agent does not call other agents." };
  const results = (steps?.instructions ?? []).map((each) => carryOut(each, true));
  const problem = results.find((each) => each.problem !== undefined)?.problem;
  return {
    texts: results.flatMap(({ texts }) => texts),
    hold: results.some(({ hold }) => hold),
    ...(problem !== undefined && { problem }),
  };
}

const HEARTBEAT_MS = 2000;
const HEARTBEATS = 5;

/** Stays WORKING for a while, so that others can subscribe; each heartbeat tells late ones what the first told. */
async function* hold(answer: string, signal: AbortSignal): Work {
  const told = `${answer}\ntask-finished`;
  yield working(told);
  for (let beat = 0; beat < HEARTBEATS; beat += 1) {
    await wait(HEARTBEAT_MS, undefined, { signal });
    yield working(told);
  }
  return complete(answer);
}

/** Carries out the instruction in a part. */
export function perform(part: Part, signal: AbortSignal): Reaction {
  const instruction = decode(part);
  if (instruction === undefined) return fail("The instruction cannot be read.");
  const { texts, hold: isHeld, problem } = carryOut(instruction, false);
  if (problem !== undefined) return fail(problem);
  const answer = texts.join("\n");
  return isHeld ? hold(answer, signal) : complete(answer);
}
