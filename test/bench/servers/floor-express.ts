// Express with its JSON reader and nothing else. Each port serves the same.
import express from "express";
import { ANSWER_JSON } from "./answers.js";

const app = express();
app.use(express.json());
app.post("/", (request, response) => {
  const { id } = request.body as { readonly id: number };
  response.json({ jsonrpc: "2.0", id, result: ANSWER_JSON });
});

for (const port of [process.env.HTTP_PORT, process.env.GRPC_PORT]) app.listen(Number(port), "127.0.0.1");
