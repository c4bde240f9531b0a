import { describe, expect, test } from "vitest";
import { createRestBinding } from "../../../src/bindings/rest/index.js";
import { A2AService } from "../../../src/protocol/schema.js";
import { fakeDispatcher } from "../../support/fake-dispatcher.js";
import { bodyText } from "../../support/http-request.js";
import { testService } from "../../support/test-protos.js";
import {
  bodyOf,
  checkAnswer,
  checkRequest,
  GATEWAY_CASES,
  TRANSCODING_CASES,
  type TranscodingCase,
} from "../../support/transcoding/cases.js";
import { emptyReply, requestOf } from "./ask.js";

const MAX_BYTES = 100_000;

async function run(found: TranscodingCase): Promise<void> {
  const dispatcher = fakeDispatcher(emptyReply);
  const services = [found.proto === "a2a" ? A2AService : testService("SyntheticService")];
  const binding = createRestBinding({ dispatcher, services, maxBytes: MAX_BYTES });
  const body = bodyOf(found, MAX_BYTES);
  const sent = { headers: found.headers ?? {}, ...(body === undefined ? {} : { body }) };
  const answer = await binding(requestOf(`${found.method} ${found.target}`, sent));
  if (found.expect.rpc === undefined) {
    expect(dispatcher.calls).toEqual([]);
    // An address that is not REST's is left to whoever comes next, who says that there is nothing.
    if (found.expect.reason === "no route") return expect(answer).toBeUndefined();
    expect(answer).toBeDefined();
    if (answer) checkAnswer(found, { ...answer, body: await bodyText(answer) });
    return;
  }
  const [call] = dispatcher.calls;
  if (call === undefined)
    throw new Error(`${found.id} did not reach the dispatcher: ${answer && (await bodyText(answer))}`);
  checkRequest(found, { rpc: call.method.name, schema: call.method.input, message: call.request });
  expect(answer?.status).toBe(200);
}

describe("S1-02: the transcoding cases", () => {
  test("are all there", () => {
    expect(TRANSCODING_CASES).toHaveLength(122);
    expect(GATEWAY_CASES.map(({ id }) => id)).toEqual(["B26", "B27", "H02", "H14", "H16"]);
  });

  const cases = TRANSCODING_CASES.filter(({ level }) => level === undefined);
  test.each(cases.map((found) => [found.id, `${found.method} ${found.target}`, found] as const))(
    "%s %s",
    (_id, _line, found) => run(found),
  );
});
