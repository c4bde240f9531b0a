/** The size of a message that every wire takes when nobody set a limit. */
import { fromJsonString, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { defineAgent } from "../../src/agents/define.js";
import { SendMessageRequestSchema } from "../../src/protocol/schema.js";
import { startGateway, type TestGateway } from "../support/gateway.js";
import { RAW_WIRES } from "./raw-wires.js";

const LIMIT = 10 * 1024 * 1024;
/** More than what stands around a message on any wire. */
const MARGIN = 1_000;

let gateway: TestGateway;
beforeAll(async () => {
  const agent = defineAgent({ card: { name: "Reader", description: "" }, answer: () => "read" });
  gateway = await startGateway({ agents: [{ agent }] });
});
afterAll(() => gateway.close());

function messageOf(bytes: number, form: "json" | "protobuf"): Uint8Array {
  const around = { message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "" }] } };
  around.message.parts[0] = { text: "x".repeat(bytes - JSON.stringify(around).length) };
  const json = JSON.stringify(around);
  if (form === "json") return Buffer.from(json);
  return toBinary(SendMessageRequestSchema, fromJsonString(SendMessageRequestSchema, json));
}

/** The HTTP version makes no difference here, and ten megabytes take their time. */
const ONCE_EACH = RAW_WIRES.filter(({ name }) => !name.endsWith("HTTP/1"));

test.each(ONCE_EACH)("$name: 10 MiB, and no more", async ({ connect, form }) => {
  const client = connect(gateway);
  const send = (bytes: number) => client.ask({ method: "SendMessage", message: messageOf(bytes, form) });
  expect(await send(LIMIT - MARGIN)).toMatchObject({ kind: "ok" });
  expect(await send(LIMIT + MARGIN)).toMatchObject({ kind: "error", error: { code: "RESOURCE_EXHAUSTED" } });
  await client.close();
});
