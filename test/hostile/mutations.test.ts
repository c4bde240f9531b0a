import { fromJson, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Agent } from "../../src/agents/agent.js";
import type { Code } from "../../src/errors.js";
import { SendMessageRequestSchema } from "../../src/protocol/schema.js";
import { startGateway, type TestGateway } from "../support/gateway.js";
import { partsOf, scriptedCard } from "../support/scripted-agent.js";
import { RAW_WIRES, type RawClient } from "./raw-wires.js";

/** A message with every kind of part, so that a mutation can hit any of them. */
const REQUEST: JsonObject = {
  message: {
    messageId: "message-1",
    contextId: "context-1",
    role: "ROLE_USER",
    parts: [
      { text: "hällo", mediaType: "text/plain" },
      { raw: "AAEC", filename: "a.bin" },
      { data: { list: [1, -2.5, null, true], nested: { a: "b" } } },
    ],
    metadata: { trace: "abc" },
  },
  configuration: { acceptedOutputModes: ["text/plain"], historyLength: 3, returnImmediately: true },
};

const JSON_BYTES = Buffer.from(JSON.stringify(REQUEST));
const PROTOBUF_BYTES = Buffer.from(
  toBinary(SendMessageRequestSchema, fromJson(SendMessageRequestSchema, REQUEST)),
);

/** What a damaged message may be answered with: it is the caller's fault or names something that is not there. */
const CALLERS_FAULT: readonly Code[] = ["INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION"];

let gateway: TestGateway;

beforeAll(async () => {
  const agent: Agent = {
    card: scriptedCard({ defaultInputModes: [] }),
    answer: async () => ({ kind: "message", parts: partsOf("fine") }),
  };
  gateway = await startGateway({ agents: [{ agent, policy: { idempotency: false } }] });
});
afterAll(() => gateway.close());

describe.each(RAW_WIRES)("damaged messages over $name", (wire) => {
  const whole = wire.form === "json" ? JSON_BYTES : PROTOBUF_BYTES;
  let client: RawClient;
  beforeAll(() => {
    client = wire.connect(gateway);
  });
  afterAll(() => client.close());

  async function codeFor(message: Uint8Array): Promise<Code | "OK"> {
    const answer = await client.ask({ method: "SendMessage", message });
    return answer.kind === "ok" ? "OK" : answer.error.code;
  }

  test("cut off at every byte", async () => {
    expect(await codeFor(whole)).toBe("OK");
    for (let length = 0; length < whole.length; length += 1) {
      const code = await codeFor(whole.subarray(0, length));
      const allowed = wire.form === "json" ? ["INVALID_ARGUMENT"] : ["OK", ...CALLERS_FAULT];
      expect(allowed, `${length} of ${whole.length} bytes`).toContain(code);
    }
  });

  test("with one bit changed in every byte", async () => {
    for (let at = 0; at < whole.length; at += 1) {
      const damaged = Buffer.from(whole);
      damaged.writeUInt8(damaged.readUInt8(at) ^ (1 << (at % 8)), at);
      expect(["OK", ...CALLERS_FAULT], `byte ${at}`).toContain(await codeFor(damaged));
    }
  });
});
