import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { createRpcEngine } from "../../src/bindings/jsonrpc/engine.js";
import { findId } from "../../src/bindings/jsonrpc/id-scanner.js";
import { sse } from "../../src/bindings/sse.js";
import { CallEnding } from "../../src/protocol/ending.js";
import { WireEvent } from "../../src/protocol/event.js";
import { A2AService, type StreamResponse, StreamResponseSchema } from "../../src/protocol/schema.js";
import { parseEvents } from "../support/event-source.js";
import { eventsThen, fakeDispatcher } from "../support/fake-dispatcher.js";
import { bodyText } from "../support/http-request.js";
import { messages } from "./messages.js";
import { fuzz, mutated } from "./support.js";

const caller = new CallEnding();

/** JSON texts of ids, in every spelling. */
const ids = fc.oneof(
  fc.constantFrom("null", "0", "-0", "1.0", "1e3", "1E-2", "12345678901234567890", "0.10"),
  fc.bigInt().map(String),
  fc.string({ unit: "grapheme" }).map((text) => JSON.stringify(text)),
  fc.string({ unit: "binary-ascii", maxLength: 5 }).map((text) => `"${[...text].map(escaped).join("")}"`),
);

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

const spaces = fc.stringMatching(/^[ \t\n\r]{0,3}$/);

/** A request with its members in any order and any amount of white space. */
const requests = fc
  .record({
    id: ids,
    method: fc.constantFrom(...A2AService.methods.map(({ name }) => name), "Nope"),
    params: fc.oneof(
      fc.json(),
      fc.constant('{"id":"t1"}'),
      fc.constant('{"message":{"messageId":"m","parts":[]}}'),
    ),
    other: fc.json(),
    order: fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 5 }),
    space: spaces,
  })
  .map(({ id, method, params, other, order, space }) => {
    const members = [
      `"jsonrpc":"2.0"`,
      `"id"${space}:${space}${id}`,
      `"method":"${method}"`,
      `"params":${params}`,
      `"x":${other}`,
    ];
    return {
      id,
      text: `${space}{${space}${order.map((index) => members[index]).join(`${space},`)}${space}}`,
    };
  });

async function answer(source: string | Uint8Array) {
  const dispatcher = fakeDispatcher(({ method }) => ({
    kind: "unary",
    message: create(method.output),
    headers: {},
  }));
  const traffic = { received: 0, sent: 0 };
  const answered = await createRpcEngine({ dispatcher }).answer({
    source,
    traffic,
    caller,
    parameters: () => undefined,
  });
  if (answered.kind === "stream") throw new Error("nothing streams here");
  return { text: answered.text, error: answered.error, calls: dispatcher.calls.length };
}

describe("JSON-RPC", () => {
  fuzz(
    "the id of a request is found as it is written",
    fc.property(requests, ({ id, text }) => {
      expect(findId(text)).toBe(id);
    }),
  );

  fuzz(
    "any request is answered once, on one line, under its id",
    fc.asyncProperty(requests, async ({ id, text }) => {
      const { text: response } = await answer(text);
      expect(response).not.toMatch(/[\r\n]/);
      expect(JSON.parse(response)).toMatchObject({ jsonrpc: "2.0" });
      const echoed = findId(response);
      if (id.startsWith('"')) expect(JSON.parse(echoed ?? "")).toBe(JSON.parse(id));
      else expect(echoed).toBe(id);
    }),
  );

  fuzz(
    "any bytes are answered with a response object; only a whole request runs",
    fc.asyncProperty(mutated(requests.map(({ text }) => text)), async (bytes) => {
      const { text, error, calls } = await answer(bytes);
      const response = JSON.parse(text);
      expect(Object.keys(response)).toEqual(["jsonrpc", "id", error ? "error" : "result"]);
      expect(["INTERNAL", "UNAVAILABLE"]).not.toContain(error?.reason);
      expect(calls).toBe(error ? 0 : 1);
      if (calls === 1) expect(JSON.parse(Buffer.from(bytes).toString())).toMatchObject({ jsonrpc: "2.0" });
    }),
  );
});

describe("server-sent events", () => {
  const responses = messages(StreamResponseSchema) as fc.Arbitrary<StreamResponse>;

  fuzz(
    "any events are read as they were by an independent parser",
    fc.asyncProperty(fc.array(responses, { maxLength: 4 }), async (list) => {
      const events = list.map((response) => WireEvent.of(response));
      const options = {
        headers: {},
        traffic: { received: 0, sent: 0 },
        caller,
        form: { write: ({ json }: WireEvent) => json, fail: () => "" },
      };
      const text = await bodyText(await sse(eventsThen(events), options));
      expect(parseEvents(text).map(({ data }) => data)).toEqual(events.map(({ json }) => json));
    }),
  );
});
