// What a user of the package writes: an agent, a check of their own, and the gateway inside their own server.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { A2AError, createGateway, defineAgent, type Middleware, textOf } from "switchyard";

const agent = defineAgent({
  card: { name: "Shout", description: "Says it louder." },
  answer: (turn) => textOf(turn.message).toUpperCase(),
});

const seen: string[] = [];
const quiet: Middleware = async (context, _request, next) => {
  seen.push(`${context.wire} ${context.method.name}`);
  if (context.parameters("x-quiet") !== undefined)
    throw new A2AError("PERMISSION_DENIED", { text: "Too loud." });
  return await next();
};

const gateway = await createGateway({
  agents: [{ agent }],
  http: false,
  grpc: false,
  store: { kind: "memory" },
  middleware: [quiet],
});
await gateway.start();
const server = createServer(gateway.serve);
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as AddressInfo;

async function send(headers: Record<string, string>): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/message:send`, {
    method: "POST",
    headers: { "a2a-version": "1.0", "content-type": "application/json", ...headers },
    body: JSON.stringify({ message: { messageId: "1", role: "ROLE_USER", parts: [{ text: "hello" }] } }),
  });
  return `${response.status} ${await response.text()}`;
}

const answers = [await send({}), await send({ "x-quiet": "1" })];
console.log(JSON.stringify({ answers, seen }));
await new Promise((resolve) => server.close(resolve));
await gateway.close();
