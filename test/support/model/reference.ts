/** A plain account of what a gateway must do, without storage, time or concurrency. */

/** States by their short names. */
export type State =
  | "SUBMITTED"
  | "WORKING"
  | "INPUT_REQUIRED"
  | "AUTH_REQUIRED"
  | "COMPLETED"
  | "FAILED"
  | "CANCELED"
  | "REJECTED";

const OPEN: readonly State[] = ["SUBMITTED", "WORKING"];
const WAITING: readonly State[] = ["INPUT_REQUIRED", "AUTH_REQUIRED"];

export const isTerminal = (state: State): boolean => !OPEN.includes(state) && !WAITING.includes(state);

/** What a caller sees of a task. */
export interface TaskView {
  readonly id: string;
  readonly state: State;
  /** Text of the status message. */
  readonly said: string | undefined;
  readonly history: readonly string[];
  /** Texts of each artifact's parts. */
  readonly artifacts: Readonly<Record<string, readonly string[]>>;
}

export interface ModelTask {
  readonly owner: string;
  readonly id: string;
  readonly contextId: string;
  state: State;
  said: string | undefined;
  history: string[];
  artifacts: Record<string, string[]>;
  /** Every wire event in words; the n-th is number n. */
  readonly events: string[];
  /** Grows with each status, over all tasks. */
  statusAt: number;
  /** The turn that works on it now. */
  turn: ModelTurn | undefined;
}

/** One turn, and who waits for it. */
export interface ModelTurn {
  /** Number of the event that ended it. */
  lastNumber: number | undefined;
  callers: Caller[];
}

/** A blocking caller, who gets the task as it is at the next status that is not open. */
export interface Caller {
  result?: TaskView;
}

export interface ModelMessage {
  readonly messageId: string;
  readonly text: string;
  readonly taskId?: string;
  readonly contextId?: string;
}

/** What a send must lead to. */
export type Expected =
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "message"; readonly text: string }
  /** A task as it is. */
  | { readonly kind: "task"; readonly task: ModelTask }
  /** A turn that works on a task. */
  | { readonly kind: "turn"; readonly task: ModelTask; readonly turn: ModelTurn }
  /** A new task; its ids are the gateway's choice: `created` tells them. */
  | { readonly kind: "new" };

interface Key {
  readonly message: ModelMessage;
  readonly result: Extract<Expected, { kind: "message" }> | { readonly kind: "task"; readonly id: string };
}

export interface Reference {
  readonly tasks: readonly ModelTask[];
  find(owner: string, id: string): ModelTask | undefined;
  send(owner: string, message: ModelMessage): Expected;
  created(
    owner: string,
    message: ModelMessage,
    ids: { readonly id: string; readonly contextId: string },
  ): Extract<Expected, { kind: "turn" }>;
  /** The CANCELED task, or why it cannot be. */
  cancel(owner: string, id: string): ModelTask | string;
  /** The agent reports a status, and goes on. */
  progress(task: ModelTask, state: "WORKING" | "AUTH_REQUIRED", said: string | undefined): void;
  /** The agent puts out a part of an artifact. */
  piece(task: ModelTask, artifactId: string, append: boolean, text: string): void;
  /** The agent's turn ends. */
  end(task: ModelTask, state: State, said: string | undefined): void;
  /** The process died, and another one took over; returns the tasks that failed by it. */
  restart(said: string): readonly ModelTask[];
  /** In the order of lists. */
  list(owner: string, filter: { readonly contextId?: string; readonly state?: State }): readonly ModelTask[];
}

export function viewOf({ id, state, said, history, artifacts }: ModelTask): TaskView {
  return structuredClone({ id, state, said, history, artifacts });
}

export function createReference(): Reference {
  const tasks: ModelTask[] = [];
  const keys = new Map<string, Key>();
  let clock = 0;

  const find = (owner: string, id: string) => tasks.find((task) => task.owner === owner && task.id === id);

  function setStatus(task: ModelTask, state: State, said: string | undefined): void {
    if (task.said !== undefined) task.history.push(task.said);
    clock += 1;
    Object.assign(task, { state, said, statusAt: clock });
    task.events.push(`status ${state} ${said ?? ""}`);
    if (OPEN.includes(state) || task.turn === undefined) return;
    for (const caller of task.turn.callers.splice(0)) caller.result = viewOf(task);
  }

  function end(task: ModelTask, state: State, said: string | undefined): void {
    if (task.turn) task.turn.lastNumber = task.events.length + 1;
    setStatus(task, state, said);
    task.turn = undefined;
  }

  function remember(owner: string, message: ModelMessage, result: Key["result"]): void {
    keys.set(`${owner} ${message.messageId}`, { message, result });
  }

  function repeat(owner: string, message: ModelMessage, { message: first, result }: Key): Expected {
    const isSame = (["text", "taskId", "contextId"] as const).every((name) => message[name] === first[name]);
    if (!isSame) return { kind: "refused", reason: "INVALID_ARGUMENT" };
    if (result.kind === "message") return result;
    const task = find(owner, result.id) as ModelTask;
    if (task.turn && OPEN.includes(task.state)) return { kind: "turn", task, turn: task.turn };
    return { kind: "task", task };
  }

  /** The task that a message is for; a reason when it is refused; undefined for a new one. */
  function target(owner: string, { taskId, contextId }: ModelMessage): ModelTask | string | undefined {
    if (taskId === undefined) {
      const inContext = (task: ModelTask) => task.owner === owner && task.contextId === contextId;
      const waiting = tasks.filter((task) => inContext(task) && WAITING.includes(task.state));
      return waiting.length === 1 ? waiting[0] : undefined;
    }
    const task = find(owner, taskId);
    if (task === undefined) return "TASK_NOT_FOUND";
    if (contextId !== undefined && contextId !== task.contextId) return "INVALID_ARGUMENT";
    return WAITING.includes(task.state) ? task : "UNSUPPORTED_OPERATION";
  }

  function begin(owner: string, message: ModelMessage): Expected {
    if (message.text.startsWith("throw")) return { kind: "refused", reason: "INTERNAL" };
    if (!message.text.startsWith("say")) return { kind: "new" };
    const answer = { kind: "message", text: `heard ${message.text}` } as const;
    remember(owner, message, answer);
    return answer;
  }

  return {
    tasks,
    find,
    send(owner, message) {
      const known = keys.get(`${owner} ${message.messageId}`);
      if (known) return repeat(owner, message, known);
      const task = target(owner, message);
      if (typeof task === "string") return { kind: "refused", reason: task };
      if (task === undefined) return begin(owner, message);
      remember(owner, message, { kind: "task", id: task.id });
      if (task.said !== undefined) task.history.push(task.said);
      task.said = undefined;
      task.history.push(message.text);
      const { turn = { lastNumber: undefined, callers: [] } } = task;
      if (task.turn === undefined) setStatus(task, "WORKING", undefined);
      task.turn = turn;
      return { kind: "turn", task, turn };
    },
    created(owner, message, { id, contextId }) {
      clock += 1;
      const turn: ModelTurn = { lastNumber: undefined, callers: [] };
      const task: ModelTask = {
        owner,
        id,
        contextId,
        state: "SUBMITTED",
        said: undefined,
        history: [message.text],
        artifacts: {},
        events: ["task SUBMITTED"],
        statusAt: clock,
        turn,
      };
      tasks.push(task);
      remember(owner, message, { kind: "task", id });
      return { kind: "turn", task, turn };
    },
    cancel(owner, id) {
      const task = find(owner, id);
      if (task === undefined) return "TASK_NOT_FOUND";
      if (task.state === "CANCELED") return task;
      if (isTerminal(task.state)) return "TASK_NOT_CANCELABLE";
      end(task, "CANCELED", undefined);
      return task;
    },
    progress: setStatus,
    piece(task, artifactId, append, text) {
      const before = append ? (task.artifacts[artifactId] ?? []) : [];
      task.artifacts[artifactId] = [...before, text];
      task.events.push(`artifact ${artifactId} ${append ? "+" : "="}${text}`);
    },
    end,
    restart(said) {
      const failed = tasks.filter(({ state }) => OPEN.includes(state));
      for (const task of tasks) task.turn = undefined;
      for (const task of failed) setStatus(task, "FAILED", said);
      return failed;
    },
    list(owner, { contextId, state }) {
      return tasks
        .filter((task) => task.owner === owner)
        .filter((task) => contextId === undefined || task.contextId === contextId)
        .filter((task) => state === undefined || task.state === state)
        .sort((a, b) => b.statusAt - a.statusAt);
    },
  };
}
