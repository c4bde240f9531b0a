import { afterAll, beforeAll, describe, test } from "vitest";
import { startGateway, type TestGateway } from "../support/gateway.js";
import { createHttpClient, type HttpClient, textOf } from "../support/http-client.js";
import { createScriptedAgent } from "../support/scripted-agent.js";
import {
  type Ask,
  bodyOf,
  checkAnswer,
  GATEWAY_CASES,
  playGatewayCase,
  TRANSCODING_CASES,
} from "../support/transcoding/cases.js";

const MESSAGE_BYTES = 100_000;

/** Cases of the A2A service that end in HTTP, so that the whole gateway can be held to them. */
const REFUSALS = TRANSCODING_CASES.filter(
  ({ proto, level, expect }) => proto === "a2a" && level === undefined && expect.rpc === undefined,
);

describe.each([1, 2] as const)("S1-02: the transcoding cases against a gateway, HTTP/%i", (httpVersion) => {
  let gateway: TestGateway;
  let http: HttpClient;
  const ask: Ask = async ({ method, target, headers, body }) => {
    const sent =
      body === undefined ? { method, path: target, headers } : { method, path: target, headers, body };
    const answer = await http.ask(sent);
    return { status: answer.status, headers: answer.headers, body: await textOf(answer) };
  };

  beforeAll(async () => {
    const agent = createScriptedAgent();
    const cors = { origins: ["https://app.example"] };
    gateway = await startGateway({ agents: [{ agent }], cors, limits: { messageBytes: MESSAGE_BYTES } });
    http = createHttpClient(gateway.http, httpVersion);
  });
  afterAll(async () => {
    await http.close();
    await gateway.close();
  });

  test.each(GATEWAY_CASES.map((found) => [found.id, found] as const))("%s", (_, found) =>
    playGatewayCase(found, ask),
  );

  test.each(REFUSALS.map((found) => [found.id, found] as const))("%s", async (_, found) => {
    const { method, target, headers = {} } = found;
    const answer = await ask({ method, target, headers, body: bodyOf(found, MESSAGE_BYTES) });
    checkAnswer(found, answer);
  });
});
