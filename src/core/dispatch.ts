import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { AgentDirectory, AgentEntry, Principal } from "../agents/agent.js";
import { A2AError, invalidField } from "../errors.js";
import { endReason } from "../protocol/ending.js";
import type { WireEvent } from "../protocol/event.js";
import { activateExtensions, EXTENSIONS_PARAMETER, parseExtensions } from "../protocol/extensions.js";
import { newId } from "../protocol/ids.js";
import { checkRequired } from "../protocol/required.js";
import { negotiateVersion, VERSION_PARAMETER } from "../protocol/version.js";
import type { Call, CallContext, Dispatcher, Reply, ReplyHeaders, Traffic, Wire } from "./context.js";
import type { Authenticate, Middleware } from "./middleware.js";
import { type AnyOperation, type Capability, type Operations, operationOf } from "./operations.js";
import { EVENT_ID_HEADER } from "./subscribe.js";
import type { CallObserver } from "./telemetry.js";

export interface DispatcherOptions {
  readonly directory: AgentDirectory;
  readonly operations: Operations;
  readonly observers?: readonly CallObserver[];
  readonly middleware?: readonly Middleware[];
  readonly authenticate?: Authenticate;
  /** Versions served, newest first. Default `["1.0"]`. */
  readonly versions?: readonly string[];
  /** What a call without a version is taken for. Default: 0.3, as the specification says. */
  readonly assumeVersion?: string;
}

const ANONYMOUS: Principal = { id: "" };

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { directory, operations, observers = [], middleware = [], versions = ["1.0"] } = options;

  /** The checks, in their order: each may assume what those before it established. */
  async function admit(
    call: Call,
    requestId: string,
  ): Promise<{ context: CallContext; operation: AnyOperation }> {
    const principal = (await options.authenticate?.(call)) ?? ANONYMOUS;
    const version = readVersion(call);
    const entry = findAgent(call);
    const requested = parseExtensions(call.parameters(EXTENSIONS_PARAMETER));
    const extensions = activateExtensions(entry.card, requested);
    const operation = operationOf(operations, call.method);
    if (operation === undefined) throw new A2AError("METHOD_NOT_FOUND");
    checkCapability(entry, operation.needs);
    checkRequired(call.method.input, call.request);
    const context: CallContext = {
      requestId,
      wire: call.wire,
      method: call.method,
      version,
      entry,
      principal,
      scope: { tenant: entry.tenant, owner: principal.id },
      extensions,
      parameters: call.parameters,
      // A signal is made when somebody first asks for it; most calls end before that.
      get signal() {
        return call.signal;
      },
    };
    return { context, operation };
  }

  function readVersion(call: Call): string {
    const sources = {
      header: call.parameters(VERSION_PARAMETER),
      query: call.queryVersion,
      implied: call.impliedVersion,
      assumed: options.assumeVersion,
    };
    return negotiateVersion(sources, versions);
  }

  function findAgent(call: Call): AgentEntry {
    const stated = tenantOf(call.request);
    const { addressTenant } = call;
    if (addressTenant !== undefined && stated !== "" && stated !== addressTenant) {
      throw invalidField("tenant", "differs from the tenant of the address");
    }
    const tenant = addressTenant ?? stated;
    const entry = directory.get(tenant);
    if (entry !== undefined) return entry;
    const text =
      tenant === "" ? "There is no default agent: name a tenant." : "There is no agent at this tenant.";
    throw new A2AError("NOT_FOUND", { text });
  }

  async function perform(context: CallContext, operation: AnyOperation, request: Message): Promise<Reply> {
    const headers = extensionHeaders(context.extensions);
    if (operation.kind === "unary")
      return { kind: "unary", message: await operation.run(context, request), headers };
    const { events, firstId } = await operation.run(context, request);
    return {
      kind: "stream",
      events,
      headers: firstId ? { ...headers, [EVENT_ID_HEADER]: firstId } : headers,
    };
  }

  function through(
    index: number,
    context: CallContext,
    operation: AnyOperation,
    request: Message,
  ): Promise<Reply> {
    const layer = middleware[index];
    if (layer === undefined) return perform(context, operation, request);
    return layer(context, request, () => through(index + 1, context, operation, request));
  }

  return {
    hasTenant: (tenant) => directory.get(tenant) !== undefined,
    refuse(refused, thrown) {
      const error = A2AError.from(thrown);
      createRecorder(observers, refused, newId()).end(error);
      return error;
    },
    async call(call) {
      const requestId = newId();
      const recorder = createRecorder(observers, call, requestId);
      try {
        const { context, operation } = await admit(call, requestId);
        recorder.admitted(context, call.request);
        const reply = await through(0, context, operation, call.request);
        if (reply.kind === "stream") {
          return {
            kind: "stream",
            headers: reply.headers,
            events: recorder.stream(reply.events, call.signal),
          };
        }
        recorder.answered(reply.message);
        return reply;
      } catch (thrown) {
        throw recorder.end(thrown);
      }
    },
  };
}

function tenantOf(request: Message): string {
  const { tenant } = request as Message & { readonly tenant?: unknown };
  return typeof tenant === "string" ? tenant : "";
}

const REFUSALS = {
  streaming: () => new A2AError("UNSUPPORTED_OPERATION", { text: "This agent does not stream." }),
  pushNotifications: () => new A2AError("PUSH_NOTIFICATION_NOT_SUPPORTED"),
  extendedAgentCard: () =>
    new A2AError("UNSUPPORTED_OPERATION", { text: "This agent has no extended card." }),
} as const satisfies Record<Capability, () => A2AError>;

function checkCapability(entry: AgentEntry, needs: Capability | undefined): void {
  if (needs !== undefined && entry.card.capabilities?.[needs] !== true) throw REFUSALS[needs]();
}

const NO_HEADERS: ReplyHeaders = Object.freeze({});

function extensionHeaders(extensions: readonly string[]): ReplyHeaders {
  return extensions.length === 0 ? NO_HEADERS : { [EXTENSIONS_PARAMETER]: extensions.join(", ") };
}

interface Recorder {
  admitted(context: CallContext, request: Message): void;
  /** A unary answer: recorded on the next turn of the event loop, when its binding has encoded it. */
  answered(message: Message): void;
  /** The stream, recorded when it is over. */
  stream(events: AsyncIterable<WireEvent>, signal: AbortSignal): AsyncIterable<WireEvent>;
  /** A failure; returns the error to send. */
  end(thrown: unknown): A2AError;
}

function createRecorder(
  observers: readonly CallObserver[],
  call: { readonly wire: Wire; readonly traffic: Traffic; readonly method?: DescMethod },
  requestId: string,
): Recorder {
  const startedAt = performance.now();
  const method = call.method?.name ?? "";
  let tenant = "";
  let principal = "";
  let taskId = "";
  let stream = false;
  let events = 0;

  function record(error: A2AError | undefined): void {
    const { wire, traffic } = call;
    for (const observer of observers) {
      observer.callEnded({
        requestId,
        wire,
        method,
        tenant,
        principal,
        taskId,
        code: error?.row.code ?? "OK",
        reason: error?.reason ?? "",
        durationMs: performance.now() - startedAt,
        receivedBytes: traffic.received,
        sentBytes: traffic.sent,
        stream,
        events,
        ...(error?.errorId !== undefined && { errorId: error.errorId }),
        ...(error?.cause !== undefined && { cause: error.cause }),
      });
    }
  }

  function end(thrown: unknown): A2AError {
    const error = A2AError.from(thrown);
    record(error);
    return error;
  }

  return {
    admitted(context, request) {
      tenant = context.scope.tenant;
      principal = context.principal.id;
      taskId = taskIdOf(request);
    },
    answered(message) {
      if (observers.length === 0) return;
      taskId ||= taskIdOf(message);
      setImmediate(record, undefined);
    },
    stream(source, signal) {
      stream = true;
      const counting = observers.filter(({ eventSent }) => eventSent !== undefined);
      for (const observer of observers) observer.streamOpened?.(call.wire, method);
      return recorded(source[Symbol.asyncIterator](), {
        event(event) {
          events += 1;
          for (const observer of counting) observer.eventSent?.(call.wire);
          if (events === 1) taskId ||= taskIdOf(event.response);
        },
        done: () => setImmediate(record, undefined),
        left: () => void end(signal.aborted ? endReason(signal) : new A2AError("CANCELLED")),
        failed: end,
      });
    },
    end,
  };
}

interface StreamWatcher {
  event(event: WireEvent): void;
  done(): void;
  /** The reader went away. */
  left(): void;
  failed(thrown: unknown): A2AError;
}

/** Passes a stream on and tells how it went, once. A plain object: a generator would cost every event an extra turn. */
function recorded(source: AsyncIterator<WireEvent>, watcher: StreamWatcher): AsyncIterable<WireEvent> {
  let over = false;
  const iterator: AsyncIterator<WireEvent> = {
    async next() {
      try {
        const step = await source.next();
        if (!step.done) watcher.event(step.value);
        else if (!over) {
          over = true;
          watcher.done();
        }
        return step;
      } catch (thrown) {
        if (over) throw A2AError.from(thrown);
        over = true;
        throw watcher.failed(thrown);
      }
    },
    async return() {
      if (!over) {
        over = true;
        watcher.left();
      }
      // Not awaited: a generator that waits for its next event answers only once the call's signal has aborted.
      source.return?.().then(undefined, () => undefined);
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

/** The task that a request or an answer speaks of, by the field names that the contract uses for it. */
function taskIdOf(message: Message): string {
  const fields = message as Message & {
    readonly taskId?: unknown;
    readonly id?: unknown;
    readonly message?: { readonly taskId?: unknown };
    readonly payload?: { readonly value?: { readonly id?: unknown } };
  };
  for (const id of [fields.taskId, fields.message?.taskId, fields.payload?.value?.id, fields.id]) {
    if (typeof id === "string" && id !== "") return id;
  }
  return "";
}
