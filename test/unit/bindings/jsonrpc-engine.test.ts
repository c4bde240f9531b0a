import { describe, expect, it } from "vitest";
import { createRpcEngine, type RpcAnswer, type RpcSingle } from "../../../src/bindings/jsonrpc/engine.js";
import type { Call } from "../../../src/core/context.js";
import { A2AError, ERRORS, invalidField } from "../../../src/errors.js";
import { CallEnding } from "../../../src/protocol/ending.js";
import { A2AService } from "../../../src/protocol/schema.js";
import {
  eventsThen,
  type FakeDispatcher,
  fakeDispatcher,
  statusEvent,
  streamReply,
} from "../../support/fake-dispatcher.js";

const OK = '"result":{"id":"t1"}';

async function ask(
  source: string | Uint8Array,
  dispatcher: FakeDispatcher = fakeDispatcher(),
): Promise<RpcAnswer> {
  const engine = createRpcEngine({ dispatcher });
  const traffic = { received: 0, sent: 0 };
  return engine.answer({ source, traffic, caller: new CallEnding(), parameters: () => undefined });
}

async function text(source: string | Uint8Array, dispatcher?: FakeDispatcher): Promise<string> {
  return ((await ask(source, dispatcher)) as RpcSingle).text;
}

function getTask(id: string, rest = ""): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"GetTask","params":{"id":"t1"}${rest}}`;
}

function error(id: string, code: number, message: string, data = ""): string {
  return `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":${JSON.stringify(message)}${data}}}`;
}

function violations(field: string, description: string): string {
  const fieldViolations = [{ field, description }];
  return `,"data":${JSON.stringify([{ "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations }])}`;
}

describe("S1-02 every method of the contract is served by its name", () => {
  it.each(A2AService.methods.map((method) => [method.name, method] as const))("%s", async (name, method) => {
    const dispatcher = fakeDispatcher(() => {
      throw new A2AError("UNSUPPORTED_OPERATION");
    });
    await ask(`{"jsonrpc":"2.0","id":1,"method":"${name}"}`, dispatcher);
    expect(dispatcher.calls.map((call) => call.method)).toEqual([method]);
  });
});

describe("the id comes back as it was written", () => {
  it.each([
    "1",
    "0",
    "-7",
    "1.0",
    "1e3",
    "12345678901234567890",
    "0.1",
    "null",
    '"a"',
    '""',
    '"\u00e4\u{1f600}"',
    '"a\\"b"',
  ])("%s", async (id) => {
    expect(await text(getTask(id))).toBe(`{"jsonrpc":"2.0","id":${id},${OK}}`);
    expect(await text(Buffer.from(getTask(id)))).toBe(`{"jsonrpc":"2.0","id":${id},${OK}}`);
  });

  it("only the outermost id counts", async () => {
    const request = '{"params":{"id":"t1","x":{"id":2}},"method":"GetTask","id":3.0,"jsonrpc":"2.0"}';
    expect(await text(request)).toBe(`{"jsonrpc":"2.0","id":3.0,${OK}}`);
  });
});

describe("what is wrong with the envelope", () => {
  const batch = "Batches are not served. Send one request at a time.";
  const noObject = "A request must be a JSON object.";
  const noId = "A request must have an id.";
  const badId = "The id must be a string, a number or null, of at most 1024 characters.";
  const version = 'The member jsonrpc must be "2.0".';
  const method = "The member method must be a string.";

  it.each([
    ["[]", error("null", -32600, batch)],
    [`[${getTask("1")}]`, error("null", -32600, batch)],
    ["1", error("null", -32600, noObject)],
    ["null", error("null", -32600, noObject)],
    ['"GetTask"', error("null", -32600, noObject)],
    ["{}", error("null", -32600, noId)],
    ['{"jsonrpc":"2.0","method":"GetTask","params":{"id":"t1"}}', error("null", -32600, noId)],
    [getTask("{}"), error("null", -32600, badId)],
    [getTask("[1]"), error("null", -32600, badId)],
    [getTask("true"), error("null", -32600, badId)],
    [getTask(`"${"x".repeat(1023)}"`), error("null", -32600, badId)],
    ['{"id":1,"method":"GetTask"}', error("1", -32600, version)],
    ['{"jsonrpc":"1.0","id":1,"method":"GetTask"}', error("1", -32600, version)],
    ['{"jsonrpc":2.0,"id":"x","method":"GetTask"}', error('"x"', -32600, version)],
    ['{"jsonrpc":"2.0","id":1.0}', error("1.0", -32600, method)],
    ['{"jsonrpc":"2.0","id":1,"method":["GetTask"]}', error("1", -32600, method)],
    ['{"jsonrpc":"2.0","id":null,"method":null}', error("null", -32600, method)],
    [
      getTask("1", ',"method":"CancelTask"'),
      error("1", -32600, "The member method must not be given twice."),
    ],
    [getTask("1", ',"jsonrpc":"2.0"'), error("1", -32600, "The member jsonrpc must not be given twice.")],
    [getTask("1", ',"id":1'), error("null", -32600, "The member id must not be given twice.")],
    [getTask("1", ',"params":{}'), error("1", -32600, "The member params must not be given twice.")],
    [getTask("1", ',"x":{"a":1,"a":1}'), error("1", -32600, "The member x.a must not be given twice.")],
  ])("%s", async (request, expected) => {
    const dispatcher = fakeDispatcher();
    expect(await text(request, dispatcher)).toBe(expected);
    expect(dispatcher.calls).toEqual([]);
    expect(dispatcher.refusals).toHaveLength(1);
  });

  it.each(["", "  ", '{"jsonrpc":', "{'id':1}", getTask("1", ","), `${getTask("1")} x`])(
    "malformed: %j",
    async (request) => {
      const answer = JSON.parse(await text(request));
      expect(answer).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: -32700 } });
      expect(answer.error.message).toMatch(/^The body is not valid JSON\./);
    },
  );

  it("bytes that are no UTF-8", async () => {
    const bytes = Buffer.concat([Buffer.from('{"id":1,"a":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    expect(await text(bytes)).toBe(error("null", -32700, "The body is not valid UTF-8."));
  });

  it.each(["getTask", "message/send", "toString", "__proto__", "", "A2AService.GetTask"])(
    "the unknown method %j",
    async (name) => {
      const request = `{"jsonrpc":"2.0","id":1,"method":"${name}"}`;
      expect(await text(request)).toBe(error("1", -32601, "Method not found."));
    },
  );
});

describe("params", () => {
  const request = (params: string, method = "GetTask") =>
    `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;

  it.each(["null", "[]", '"x"', "1", "true", '[{"id":"t1"}]'])("%s are no object", async (params) => {
    const dispatcher = fakeDispatcher();
    expect(await text(request(params), dispatcher)).toBe(error("1", -32602, "The params must be an object."));
    expect(dispatcher.refusals[0]?.method).toBe("GetTask");
  });

  it("left out are the empty message", async () => {
    const dispatcher = fakeDispatcher();
    await text('{"jsonrpc":"2.0","id":1,"method":"ListTasks"}', dispatcher);
    expect(dispatcher.calls[0]?.request).toMatchObject({
      $typeName: "lf.a2a.v1.ListTasksRequest",
      tenant: "",
    });
  });

  it.each([
    ["GetTask", '{"id":1}', "id", "must be a string"],
    ["GetTask", '{"id":"a","id":"b"}', "id", "must not be given twice"],
    ["ListTasks", '{"status":"TASK_STATE_WORKIN"}', "status", "must be a name of TaskState"],
    [
      "SendMessage",
      '{"message":{"parts":[{"text":"a","url":"b"}]}}',
      "message.parts[0].url",
      "must not be given together with text",
    ],
    [
      "SendMessage",
      '{"message":{"metadata":{"a":[{"b":1,"b":2}]}}}',
      "message.metadata.a[0].b",
      "must not be given twice",
    ],
    [
      "SendMessage",
      '{"message":{"messageId":"\\ud800"}}',
      "message.messageId",
      "must not hold half of a surrogate pair",
    ],
  ])("%s %s name the field", async (method, params, field, description) => {
    expect(await text(request(params, method))).toBe(
      error("1", -32602, `${field}: ${description}`, violations(field, description)),
    );
  });

  it("B42: too deep, with the id", async () => {
    const deep = `{"metadata":{"a":${"[".repeat(10_000)}${"]".repeat(10_000)}}}`;
    expect(await text(request(deep))).toBe(
      error("1", -32602, "The message is nested too deep: more than 100 levels."),
    );
  });

  it("proto names and unknown fields are fine", async () => {
    const dispatcher = fakeDispatcher();
    await text(request('{"page_size":5,"nope":{}}', "ListTasks"), dispatcher);
    expect(dispatcher.calls[0]?.request).toMatchObject({ pageSize: 5 });
  });
});

describe("S1-04 every row of the error table", () => {
  it.each([...ERRORS.values()].map((row) => [row.reason, row] as const))("%s", async (reason, row) => {
    const dispatcher = fakeDispatcher(() => {
      throw new A2AError(reason);
    });
    const answer = (await ask(getTask("7"), dispatcher)) as RpcSingle;
    const info = {
      "@type": "type.googleapis.com/google.rpc.ErrorInfo",
      reason: row.info,
      domain: "a2a-protocol.org",
    };
    expect(JSON.parse(answer.text)).toEqual({
      jsonrpc: "2.0",
      id: 7,
      error: { code: row.jsonrpc, message: row.text, ...(row.info !== undefined && { data: [info] }) },
    });
    expect(answer.error?.reason).toBe(reason);
    expect(dispatcher.refusals).toEqual([]);
  });

  it("an answer that has no JSON form is INTERNAL, and reported", async () => {
    const dispatcher = fakeDispatcher(() => ({
      kind: "unary",
      headers: {},
      message: {
        $typeName: "lf.a2a.v1.Task",
        id: "t",
        status: { timestamp: { seconds: 10n ** 15n, nanos: 0 } },
      } as never,
    }));
    expect(JSON.parse(await text(getTask("1"), dispatcher))).toMatchObject({ error: { code: -32603 } });
    expect(dispatcher.refusals).toMatchObject([{ method: "GetTask", error: { reason: "INTERNAL" } }]);
  });
});

describe("streams", () => {
  it("hands on the events, and writes each under the caller's id", async () => {
    const event = statusEvent(1);
    const dispatcher = fakeDispatcher(() => streamReply(eventsThen([event])));
    const answer = await ask(
      '{"jsonrpc":"2.0","id":"s","method":"SubscribeToTask","params":{"id":"t1"}}',
      dispatcher,
    );
    if (answer.kind !== "stream") return expect.unreachable();
    expect(answer.headers).toEqual({ "a2a-extensions": "urn:x" });
    expect(answer.write(event)).toBe(`{"jsonrpc":"2.0","id":"s","result":${event.json}}`);
    expect(answer.fail(invalidField("id", "is odd"))).toBe(
      error('"s"', -32602, "id: is odd", violations("id", "is odd")),
    );
    for await (const streamed of answer.events) expect(streamed).toBe(event);
  });
});

it("passes on what the carrier knows, and counts bytes", async () => {
  const dispatcher = fakeDispatcher();
  const engine = createRpcEngine({ dispatcher });
  const traffic = { received: 0, sent: 0 };
  const known = {
    caller: new CallEnding(),
    parameters: () => "p",
    addressTenant: "acme",
    queryVersion: "1.0",
  };
  const source = getTask('"ä"');
  const answer = (await engine.answer({ ...known, source, traffic })) as RpcSingle;
  const call = dispatcher.calls[0] as Call;
  const { caller, ...carried } = known;
  expect(call).toMatchObject({ ...carried, traffic, wire: "jsonrpc" });
  expect(call.signal).toBe(caller.signal);
  expect(call.request).toMatchObject({ $typeName: "lf.a2a.v1.GetTaskRequest", id: "t1" });
  expect(traffic).toEqual({
    received: Buffer.byteLength(source),
    sent: Buffer.byteLength(answer.text),
  });
});
