/** A gateway inside a server of one's own, with its own page, its own callers and its own way to end. */
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { A2AError, createGateway, defineAgent, type Middleware, textOf } from "switchyard";

const PORT = Number(process.env.PORT ?? 3000);

const agent = defineAgent({
  card: { name: "Greeter", description: "Says hello to its caller." },
  async *answer({ message, principal }, signal) {
    yield `Looking up ${principal.id}…`;
    if (textOf(message) === "stray") setTimeout(() => Promise.reject(new Error("nobody awaits this")), 10);
    if (textOf(message) === "long") await delay(60_000, undefined, { signal });
    return `Hello, ${principal.id}!`;
  },
});

/** Runs after the gateway's own checks, on every wire alike. */
const noShouting: Middleware = async (context, _request, next) => {
  if (context.parameters("x-volume") === "11") throw new A2AError("PERMISSION_DENIED", { text: "Too loud." });
  return await next();
};

const gateway = await createGateway({
  agents: [{ agent }],
  http: false, // the server below has the port
  grpc: false,
  store: { kind: "memory" },
  publicUrl: `http://127.0.0.1:${PORT}`,
  versions: { assume: "1.0" },
  drainMs: 1_000,
  middleware: [noShouting],
  authenticate(call) {
    const id = call.parameters("x-user");
    if (id === undefined) throw new A2AError("UNAUTHENTICATED", { text: "Say who you are in x-user." });
    return { id };
  },
});
await gateway.start();

const server = createServer((request, response) => {
  if (request.url === "/") response.end("My own page.\n");
  else gateway.serve(request, response);
});
server.listen(PORT, "127.0.0.1", () => console.log(`listening on ${JSON.stringify(server.address())}`));

// An agent runs in this process, and Node ends a process for an error that nobody caught. Whether to go on is the
// program's own decision; the program `switchyard` goes on, and logs the error with the agent's name.
process.on("unhandledRejection", (reason) => console.error("left uncaught:", reason));
process.on("uncaughtException", (error) => console.error("left uncaught:", error));

process.once("SIGTERM", async () => {
  await gateway.drain(); // refuses new calls by name, gives open ones their time, records how tasks ended
  server.close();
  server.closeAllConnections();
});
