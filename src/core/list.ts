import { create } from "@bufbuild/protobuf";
import { invalidField } from "../errors.js";
import type { CursorCodec } from "../protocol/cursor.js";
import { checkId } from "../protocol/ids.js";
import {
  type ListTasksRequest,
  type ListTasksResponse,
  ListTasksResponseSchema,
  type Task,
  TaskState,
} from "../protocol/schema.js";
import type { TaskStore } from "../stores/task-store.js";
import type { CallContext } from "./context.js";

const DEFAULT_PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 100;

/** Pages through a caller's tasks (specification 3.1.4): newest status first, then by id descending. */
export function createLister(options: { readonly store: TaskStore; readonly cursors: CursorCodec }) {
  const { store, cursors } = options;
  return {
    /** INVALID_ARGUMENT for a page size outside 1 to 100, an unknown status, or a token that is not of this list. */
    async list(context: CallContext, request: ListTasksRequest): Promise<ListTasksResponse> {
      const filter = readFilter(request);
      const pageSize = readPageSize(request.pageSize);
      checkHistoryLength(request.historyLength);
      const binding = JSON.stringify([context.scope.tenant, context.scope.owner, filter]);
      const page = await store.list(context.scope, {
        ...filter,
        pageSize,
        artifacts: request.includeArtifacts === true,
        ...(request.pageToken && { after: cursors.decode(request.pageToken, binding) }),
      });
      return create(ListTasksResponseSchema, {
        tasks: page.tasks.map((task) => withHistory(task, request.historyLength)),
        nextPageToken: page.next ? cursors.encode(page.next, binding) : "",
        pageSize,
        totalSize: page.total,
      });
    },
  };
}

export type Lister = ReturnType<typeof createLister>;

/** The task with at most `length` of its most recent messages (specification 3.2.4); all when unset. */
export function withHistory(task: Task, length: number | undefined): Task {
  if (length === undefined) return task;
  return { ...task, history: length === 0 ? [] : task.history.slice(-length) };
}

/** INVALID_ARGUMENT for a negative length. */
export function checkHistoryLength(length: number | undefined, field = "historyLength"): void {
  if (length !== undefined && length < 0) throw invalidField(field, "must not be negative");
}

function readPageSize(pageSize: number | undefined): number {
  if (pageSize === undefined) return DEFAULT_PAGE_SIZE;
  if (pageSize < 1 || pageSize > MAX_PAGE_SIZE) {
    throw invalidField("pageSize", `must be between 1 and ${MAX_PAGE_SIZE}`);
  }
  return pageSize;
}

function readFilter(request: ListTasksRequest) {
  const { contextId, status, statusTimestampAfter: after } = request;
  if (contextId) checkId("contextId", contextId);
  if (TaskState[status] === undefined) throw invalidField("status", "is not a known task state");
  return {
    ...(contextId && { contextId }),
    ...(status !== TaskState.UNSPECIFIED && { state: status }),
    ...(after && { statusAfterMs: Number(after.seconds) * 1000 + Math.ceil(after.nanos / 1_000_000) }),
  };
}
