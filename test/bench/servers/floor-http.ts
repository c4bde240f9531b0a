// The floor of JSON over HTTP: node:http alone, reading and writing JSON. Each port serves the same.

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { ANSWER_JSON, EVENT_JSON } from "./answers.js";

interface Envelope {
  readonly id: number;
  readonly method: string;
  readonly params: { readonly message: { readonly parts: readonly { readonly text: string }[] } };
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => {
    const envelope = JSON.parse(Buffer.concat(pieces).toString()) as Envelope;
    if (envelope.method === "SendStreamingMessage") void stream(response, envelope);
    else unary(response, envelope);
  });
}

function unary(response: ServerResponse, { id }: Envelope): void {
  const body = JSON.stringify({ jsonrpc: "2.0", id, result: ANSWER_JSON });
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
}

/** `hold` leaves the stream open after its first event. */
async function stream(response: ServerResponse, { id, params }: Envelope): Promise<void> {
  const [word, count = "1"] = params.message.parts[0]?.text.split(" ") ?? [];
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (let index = 0; index < Number(count); index += 1) {
    const event = `data: ${JSON.stringify({ jsonrpc: "2.0", id, result: EVENT_JSON })}\n\n`;
    if (!response.write(event)) await once(response, "drain");
  }
  if (word !== "hold") response.end();
}

for (const port of [process.env.HTTP_PORT, process.env.GRPC_PORT]) {
  createServer(answer).listen(Number(port), "127.0.0.1");
}
