import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { NodeRequest, NodeResponse } from "./node-request.js";

const queues = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * Closes a response of HTTP/1.1 with its connection while it waits there behind another one: Node tells only that one,
 * so calls that were pipelined would stay open for ever.
 */
export function closeWithConnection(req: NodeRequest, res: NodeResponse): void {
  if ("stream" in res || res.socket !== null) return; // it is its turn already
  const queue = queueOf(req.socket);
  queue.add(res);
  res.on("close", () => queue.delete(res));
}

function queueOf(socket: Socket): Set<ServerResponse> {
  const known = queues.get(socket);
  if (known !== undefined) return known;
  const queue = new Set<ServerResponse>();
  queues.set(socket, queue);
  socket.on("close", () => {
    for (const res of queue) {
      if (res.socket !== null) continue; // its turn had come
      res.destroy();
      res.emit("close");
    }
  });
  return queue;
}
