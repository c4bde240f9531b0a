import type { AgentDirectory } from "../agents/agent.js";
import type { Hub } from "../hub/hub.js";
import { createCursorCodec } from "../protocol/cursor.js";
import type { TaskLookup, TaskStore, TaskUpkeep, UnfinishedTask } from "../stores/task-store.js";
import { createCanceller } from "./cancel.js";
import type { Dispatcher } from "./context.js";
import { createDispatcher } from "./dispatch.js";
import { createLister } from "./list.js";
import { createLog, type Log } from "./log.js";
import type { Authenticate, Middleware } from "./middleware.js";
import { createOperations } from "./operations.js";
import type { Fault } from "./run.js";
import { createRuns, type Runs } from "./runs.js";
import { createSender } from "./send.js";
import { createSubscriber } from "./subscribe.js";
import type { CallObserver } from "./telemetry.js";

export interface EngineOptions {
  readonly store: TaskStore & TaskLookup & TaskUpkeep & { readonly secret: Uint8Array };
  readonly hub: Hub;
  readonly directory: AgentDirectory;
  readonly observers?: readonly CallObserver[];
  readonly middleware?: readonly Middleware[];
  readonly authenticate?: Authenticate;
  readonly assumeVersion?: string;
  /** How long an agent may take to answer before it becomes a task. Default 1000. */
  readonly answerGraceMs?: number;
  /** How long a cancelled agent may take to stop. Default 3000. */
  readonly cancelGraceMs?: number;
  /** Largest metadata of a message or request, bytes of JSON. Default 65 536. */
  readonly maxMetadataBytes?: number;
  /** Entries a stream's reader may be behind before it ends. Default 100 000. */
  readonly maxLag?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  onFault(fault: Fault): void;
}

/** Everything behind the bindings: the dispatcher, and what keeps tasks alive. */
export interface Engine {
  readonly dispatcher: Dispatcher;
  readonly log: Log;
  readonly runs: Runs;
  /**
   * Takes up, or fails, what a former process left unfinished. Call once, before the first call comes in. Rejects
   * when the store cannot say what there is.
   */
  recover(): Promise<void>;
}

const RECOVERY_PAGE = 100;

export function createEngine(options: EngineOptions): Engine {
  const { store, directory } = options;
  const clock = options.now && { now: options.now };
  const log = createLog({ store, hub: options.hub, ...(options.maxLag && { maxLag: options.maxLag }) });
  const runs = createRuns({
    store,
    log,
    onFault: options.onFault,
    ...clock,
    ...(options.answerGraceMs !== undefined && { answerGraceMs: options.answerGraceMs }),
  });
  const operations = createOperations({
    store,
    log,
    sender: createSender({
      store,
      runs,
      ...(options.maxMetadataBytes && { maxMetadataBytes: options.maxMetadataBytes }),
    }),
    canceller: createCanceller({
      store,
      log,
      runs,
      ...clock,
      ...(options.cancelGraceMs !== undefined && { cancelGraceMs: options.cancelGraceMs }),
    }),
    lister: createLister({ store, cursors: createCursorCodec(store.secret) }),
    subscriber: createSubscriber({ store, log }),
  });
  const dispatcher = createDispatcher({
    directory,
    operations,
    ...(options.observers && { observers: options.observers }),
    ...(options.middleware && { middleware: options.middleware }),
    ...(options.authenticate && { authenticate: options.authenticate }),
    ...(options.assumeVersion && { assumeVersion: options.assumeVersion }),
  });

  /** One task that cannot be read or written does not keep the others, and the gateway, from going on. */
  async function recoverOne({ scope, taskId }: UnfinishedTask): Promise<void> {
    try {
      const snapshot = await store.get(scope, taskId);
      if (snapshot !== undefined) await runs.recover(scope, snapshot, directory.get(scope.tenant));
    } catch (cause) {
      options.onFault({ tenant: scope.tenant, taskId, errorId: "", cause });
    }
  }

  return {
    dispatcher,
    log,
    runs,
    async recover() {
      let last: UnfinishedTask | undefined;
      for (;;) {
        const page = await store.unfinished(last, RECOVERY_PAGE);
        await Promise.all(page.map(recoverOne));
        last = page.at(-1);
        if (page.length < RECOVERY_PAGE) return;
      }
    },
  };
}
