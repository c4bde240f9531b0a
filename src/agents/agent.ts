import type { JsonObject } from "@bufbuild/protobuf";
import type { AgentCard, Artifact, Message, Part, Task, TaskState } from "../protocol/schema.js";

/** Who calls. */
export interface Principal {
  /** Unique within the gateway; `""` for a caller who did not authenticate. */
  readonly id: string;
}

/** One message given to an agent for one task. */
export interface Turn {
  readonly message: Message;
  /** The task as it was before this turn; absent when the message starts a new one. */
  readonly task?: Task;
  /** Id of the task that this turn works on, or would create. */
  readonly taskId: string;
  readonly contextId: string;
  /** Messages that arrive while the turn runs (after AUTH_REQUIRED as progress). Ends with the run. */
  readonly inbox: AsyncIterable<Message>;
  /** Media types that the caller takes; empty means any. */
  readonly acceptedOutputModes: readonly string[];
  /** URIs of the extensions that are active for this turn. */
  readonly extensions: readonly string[];
  readonly principal: Principal;
  /** Metadata of the request. */
  readonly metadata: JsonObject;
}

export type TerminalState = TaskState.COMPLETED | TaskState.FAILED | TaskState.CANCELED | TaskState.REJECTED;
export type InterruptedState = TaskState.INPUT_REQUIRED | TaskState.AUTH_REQUIRED;

/** What happened during a turn. */
export type Progress =
  | {
      readonly kind: "status";
      /** AUTH_REQUIRED needs `parts`: it tells the user what to do while the run goes on. */
      readonly state: TaskState.WORKING | TaskState.AUTH_REQUIRED;
      readonly parts?: readonly Part[];
      readonly metadata?: JsonObject;
    }
  | {
      readonly kind: "artifact";
      readonly artifact: Artifact;
      /** True: the parts join those of the artifact with the same id. */
      readonly append: boolean;
      readonly lastChunk: boolean;
      readonly metadata?: JsonObject;
    };

/** How a turn ended. */
export interface Outcome {
  readonly state: TerminalState | InterruptedState;
  readonly parts?: readonly Part[];
  readonly metadata?: JsonObject;
}

/** What an agent answers to a turn. */
export type Answer =
  /** A direct message; no task is made. To a follow-up, it completes the task. */
  | { readonly kind: "message"; readonly parts: readonly Part[]; readonly metadata?: JsonObject }
  | {
      readonly kind: "task";
      readonly work: AsyncGenerator<Progress, Outcome>;
      readonly metadata?: JsonObject;
    };

const STOPPED = {
  cancel: "The task was cancelled.",
  shutdown: "The gateway is stopping.",
  lost: "The task can no longer be recorded.",
} as const;

/** Why a turn's signal aborted: `signal.reason` is one of these. */
export class TurnStopped extends Error {
  override readonly name = "TurnStopped";
  /**
   * `cancel`: a caller cancelled the task. `shutdown`: the gateway stops. `lost`: what the turn does can no longer
   * be recorded, because the store failed or the task is gone.
   */
  readonly why: "cancel" | "shutdown" | "lost";
  /** Metadata of the CancelTask request. */
  readonly metadata: JsonObject;

  constructor(why: TurnStopped["why"], metadata: JsonObject = {}) {
    super(STOPPED[why]);
    this.why = why;
    this.metadata = metadata;
  }
}

/** A backend. It says what happened; ids, times and order are stamped by the gateway. */
export interface Agent {
  /** Name, description, version, skills, modes. Interfaces and capabilities are filled in by the gateway. */
  readonly card: AgentCard;
  /** `signal` aborts when the task is cancelled or the gateway stops. */
  answer(turn: Turn, signal: AbortSignal): Promise<Answer>;
  /** Takes up the work of a task that was running when the gateway stopped. Without it such a task FAILS. */
  resume?(turn: Turn, signal: AbortSignal): Promise<Answer>;
}

/** How the gateway treats messages to one agent. */
export interface AgentPolicy {
  /** A message to a task that is running: refused, or kept until the run ends. Default `reject`. */
  readonly busy: "reject" | "queue";
  /** A message with a contextId alone: resumes the one waiting task of that context, or always starts a new one. Default `resume`. */
  readonly followUps: "resume" | "new-task";
  /** Tasks of one context at the same time. Default `many`. */
  readonly concurrency: "one" | "many";
  /** A repeated messageId finds the first answer. Default true. */
  readonly idempotency: boolean;
}

/** An agent as the gateway serves it. */
export interface AgentEntry {
  /** `""` is the default agent. */
  readonly tenant: string;
  readonly agent: Agent;
  readonly policy: AgentPolicy;
  /** The public card as it is served: interfaces, capabilities and tenant filled in. */
  readonly card: AgentCard;
  /** The card for authenticated callers; absent when none is configured. */
  readonly extendedCard?: AgentCard;
  /** True: anyone gets the extended card. Test profiles only. Default false. */
  readonly extendedCardPublic: boolean;
}

/** Tenant → agent. Replaced as a whole when the configuration is loaded again. */
export interface AgentDirectory {
  get(tenant: string): AgentEntry | undefined;
  list(): readonly AgentEntry[];
}
