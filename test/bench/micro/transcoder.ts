// Times the REST transcoder: which RPC does a request line belong to, and the values that it carries.
import { createTranscoder } from "../../../src/bindings/rest/transcoder.js";
import { A2AService } from "../../../src/protocol/schema.js";
import { annotatedService } from "../../support/annotated-service.js";
import { report, timed } from "./timed.js";

/** A service with so many routes: resources and their parts, in turn. */
function transcoderOf(routes: number) {
  const rpcs = Array.from({ length: routes }, (_, index) => ({
    name: `Rpc${index}`,
    input: ".lf.a2a.v1.GetTaskRequest",
    rule: {
      pattern: {
        case: "get" as const,
        value: index % 2 === 0 ? `/v1/kind${index}/{id}` : `/v1/kind${index}/{id}/part`,
      },
    },
  }));
  return createTranscoder([annotatedService(rpcs)]);
}

const ten = transcoderOf(10);
const many = transcoderOf(10_000);
const a2a = createTranscoder([A2AService]);

const get = (target: string) => ({ method: "GET", target });

report([
  timed("10 routes: first", () => ten.match(get("/v1/kind0/5a8f43ce"))),
  timed("10 routes: last", () => ten.match(get("/v1/kind9/5a8f43ce/part"))),
  timed("10 routes: none", () => ten.match(get("/v1/other/5a8f43ce"))),
  timed("10 000 routes: first", () => many.match(get("/v1/kind0/5a8f43ce"))),
  timed("10 000 routes: last", () => many.match(get("/v1/kind9999/5a8f43ce/part"))),
  timed("10 000 routes: none", () => many.match(get("/v1/other/5a8f43ce"))),
  timed("A2A: GET /tasks/{id}", () => a2a.match(get("/tasks/5a8f43ce-8a3c-4c0b-9d3c-6b1c0b8d5e11"))),
  timed("A2A: GET /{tenant}/tasks/{id}", () =>
    a2a.match(get("/acme/tasks/5a8f43ce-8a3c-4c0b-9d3c-6b1c0b8d5e11")),
  ),
  timed("A2A: GET /tasks with a query", () => a2a.match(get("/tasks?status=TASK_STATE_WORKING&pageSize=50"))),
  timed("A2A: POST /message:send", () => a2a.match({ method: "POST", target: "/message:send" })),
]);
