/** One limit on nesting, and one count of it, for every wire. */
import assert from "node:assert/strict";
import { fromJsonString, type JsonObject, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DEEPEST } from "../../src/protocol/depth.js";
import { SendMessageRequestSchema } from "../../src/protocol/schema.js";
import { nestedList, nestedObject } from "../support/deep.js";
import { startGateway, type TestGateway } from "../support/gateway.js";
import { createHttpClient, textOf } from "../support/http-client.js";
import { createScriptedAgent } from "../support/scripted-agent.js";
import { createTempDir } from "../support/temp-dir.js";
import { RAW_WIRES, type RawClient } from "./raw-wires.js";

/** Requests with so many levels of objects and lists in all, told apart by where they are deep. */
const FORMS: readonly (readonly [string, (levels: number) => JsonObject])[] = [
  ["lists in a part's data", (levels) => requestOf({ parts: [{ data: nestedList(levels - 4) }] })],
  ["objects in a part's data", (levels) => requestOf({ parts: [{ data: nestedObject(levels - 4) }] })],
  ["metadata of the message", (levels) => requestOf({ metadata: nestedObject(levels - 2) })],
  ["lists in metadata of a part", (levels) => requestOf({ parts: [deepPart(nestedList(levels - 5))] })],
  ["metadata of the request", (levels) => ({ ...requestOf({}), metadata: nestedObject(levels - 1) })],
];

const directory = createTempDir();
let sent = 0;

function requestOf(message: JsonObject): JsonObject {
  sent += 1;
  return { message: { messageId: `d${sent}`, role: "ROLE_USER", parts: [{ text: "hi" }], ...message } };
}

function deepPart(deep: JsonValue): JsonObject {
  return { text: "hi", metadata: { deep } };
}

function bytesOf(request: JsonObject, form: "json" | "protobuf"): Uint8Array {
  const json = JSON.stringify(request);
  if (form === "json") return Buffer.from(json);
  const message = fromJsonString(SendMessageRequestSchema, json, { recursionLimit: 10_000 });
  return toBinary(SendMessageRequestSchema, message);
}

describe.each([
  ["unless told otherwise", undefined, 100],
  ["when few are allowed", 12, 12],
  ["when many are allowed", DEEPEST, DEEPEST],
])("limits.depth %s", (_, depth, levels) => {
  let gateway: TestGateway;

  beforeAll(async () => {
    const agent = createScriptedAgent({ hi: [{ done: "COMPLETED" }], "": [{ done: "COMPLETED" }] });
    gateway = await startGateway({
      agents: [{ agent }],
      store: { kind: "sqlite", path: `${directory}/${levels}-${depth}.db` },
      ...(depth !== undefined && { limits: { depth } }),
    });
  });
  afterAll(() => gateway.close());

  describe.each(RAW_WIRES)("$name", ({ connect, form }) => {
    let client: RawClient;
    beforeAll(() => {
      client = connect(gateway);
    });
    afterAll(() => client.close());

    test.each(FORMS)("%s", async (_title, request) => {
      const ask = (levelsSent: number) =>
        client.ask({ method: "SendMessage", message: bytesOf(request(levelsSent), form) });
      expect(await ask(levels)).toMatchObject({ kind: "ok" });
      const refused = {
        code: "INVALID_ARGUMENT",
        message: `The message is nested too deep: more than ${levels} levels.`,
      };
      expect(await ask(levels + 1)).toMatchObject({ kind: "error", error: refused });
      expect(await ask(levels + 250)).toMatchObject({ kind: "error", error: refused });
    });
  });

  test("what was accepted is read back", async () => {
    const http = createHttpClient(gateway.http, 1);
    const headers = { "a2a-version": "1.0", "content-type": "application/json" };
    try {
      const list = await http.ask({ method: "GET", path: "/tasks?pageSize=100&historyLength=1", headers });
      const { tasks, totalSize } = JSON.parse(await textOf(list)) as { tasks: unknown[]; totalSize: number };
      assert.equal(list.status, 200);
      expect(totalSize).toBe(RAW_WIRES.length * FORMS.length);
      expect(Math.max(...tasks.map(levelsOf))).toBeGreaterThan(levels);
    } finally {
      await http.close();
    }
  });
});

function levelsOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(levelsOf));
}
