// connect-node alone: over HTTP/1.1 on the one port, over cleartext HTTP/2 on the other.
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { A2AService } from "../../../src/protocol/schema.js";
import { ANSWER } from "./answers.js";

const answer = connectNodeAdapter({
  routes: (router: ConnectRouter) =>
    router.service(A2AService, {
      getTask: () => (ANSWER.payload.case === "task" ? ANSWER.payload.value : {}),
      sendMessage: () => ANSWER,
    }),
});

createHttpServer(answer).listen(Number(process.env.HTTP_PORT), "127.0.0.1");
createHttp2Server(answer).listen(Number(process.env.GRPC_PORT), "127.0.0.1");
