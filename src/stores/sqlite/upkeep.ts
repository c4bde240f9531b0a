import type { Database } from "better-sqlite3";
import { TaskState } from "../../protocol/schema.js";
import type { UnfinishedTask } from "../task-store.js";
import type { Counters } from "./counters.js";
import { ALL_SCOPES, type Scopes } from "./scopes.js";

/** Housekeeping that is done in one go; expiry, which takes longer, is in `expiry.ts`. */
export interface Upkeep {
  unfinished(after: UnfinishedTask | undefined, limit: number): readonly UnfinishedTask[];
  countByState(): ReadonlyMap<TaskState, number>;
}

/** What upkeep shares with the rest of the store. */
export interface UpkeepOptions {
  readonly db: Database;
  readonly scopes: Scopes;
  readonly counters: Counters;
}

interface UnfinishedRow {
  readonly id: string;
  readonly tenant: string;
  readonly owner: string;
}

export function createUpkeep({ db, scopes, counters }: UpkeepOptions): Upkeep {
  // Looks at all unfinished tasks, which are few, and at no others.
  const unfinished = db.prepare<[number, string, number], UnfinishedRow>(
    `SELECT t.id, s.tenant, s.owner FROM tasks t INDEXED BY tasks_by_age JOIN scopes s ON s.number = t.scope
     WHERE t.state IN (${TaskState.SUBMITTED}, ${TaskState.WORKING}) AND (t.scope, t.id) > (?, ?)
     ORDER BY t.scope, t.id LIMIT ?`,
  );
  return {
    unfinished(after, limit) {
      const scope = after && scopes.find(after.scope);
      const rows = unfinished.all(scope ?? ALL_SCOPES, after?.taskId ?? "", limit);
      return rows.map(({ id, tenant, owner }) => ({ scope: { tenant, owner }, taskId: id }));
    },
    countByState: () => new Map(counters.read(ALL_SCOPES).map(({ state, count }) => [state, count])),
  };
}
