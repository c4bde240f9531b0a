import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { AgentDirectory, AgentEntry, Principal } from "../agents/agent.js";
import { A2AError, invalidField } from "../errors.js";
import { type AbortState, endReason } from "../protocol/ending.js";
import type { EventIterator, WireEvent } from "../protocol/event.js";
import { activateExtensions, EXTENSIONS_PARAMETER, parseExtensions } from "../protocol/extensions.js";
import { newId } from "../protocol/ids.js";
import { checkRequired } from "../protocol/required.js";
import { negotiateVersion, VERSION_PARAMETER } from "../protocol/version.js";
import type { Scope } from "../stores/task-store.js";
import type {
  Call,
  CallContext,
  Dispatcher,
  Parameters,
  Reply,
  ReplyHeaders,
  Traffic,
  Wire,
} from "./context.js";
import type { Authenticate, Middleware } from "./middleware.js";
import { type AnyOperation, type Capability, type Operations, operationOf } from "./operations.js";
import { EVENT_ID_HEADER } from "./subscribe.js";
import type { CallObserver, CallRecord } from "./telemetry.js";

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
  function admit(call: Call, requestId: string, principal: Principal): Admitted {
    const version = readVersion(call);
    const entry = findAgent(call);
    const requested = parseExtensions(call.parameters(EXTENSIONS_PARAMETER));
    const extensions = activateExtensions(entry.card, requested);
    const operation = operationOf(operations, call.method);
    if (operation === undefined) throw new A2AError("METHOD_NOT_FOUND");
    checkCapability(entry, operation.needs);
    checkRequired(call.method.input, call.request);
    return new Admitted(call, operation, { requestId, version, entry, principal, extensions });
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

  async function perform(context: Admitted, request: Message): Promise<Reply> {
    const { operation } = context;
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

  function through(index: number, context: Admitted, request: Message): Promise<Reply> {
    const layer = middleware[index];
    if (layer === undefined) return perform(context, request);
    return layer(context, request, () => through(index + 1, context, request));
  }

  return {
    hasTenant: (tenant) => directory.get(tenant) !== undefined,
    refuse(refused, thrown) {
      const error = A2AError.from(thrown);
      new Recorder(observers, refused, newId()).end(error);
      return error;
    },
    async call(call) {
      const requestId = newId();
      const recorder = new Recorder(observers, call, requestId);
      try {
        const principal = (options.authenticate && (await options.authenticate(call))) ?? ANONYMOUS;
        const context = admit(call, requestId, principal);
        recorder.admitted(context, call.request);
        const reply = await through(0, context, call.request);
        if (reply.kind === "stream") {
          if (call.caller.aborted) throw abandoned(reply.events, call.caller);
          const { kind, headers } = reply;
          return { kind, headers, events: recorder.stream(reply.events, call.caller) };
        }
        recorder.answered(reply.message);
        return reply;
      } catch (thrown) {
        throw recorder.end(thrown);
      }
    },
  };
}

/** For a stream that came when its caller had left already: nobody would read or end it. */
function abandoned(events: AsyncIterable<WireEvent>, caller: AbortState): A2AError {
  events[Symbol.asyncIterator]()
    .return?.()
    .catch(() => undefined); // how it ends is no news
  return endReason(caller);
}

/** A call that passed all checks. A class, as every call makes one. */
class Admitted implements CallContext {
  readonly requestId: string;
  readonly wire: Wire;
  readonly method: DescMethod;
  readonly version: string;
  readonly entry: AgentEntry;
  readonly principal: Principal;
  readonly scope: Scope;
  readonly extensions: readonly string[];
  readonly parameters: Parameters;
  readonly operation: AnyOperation;
  readonly #call: Call;

  constructor(
    call: Call,
    operation: AnyOperation,
    known: Pick<CallContext, "requestId" | "version" | "entry" | "principal" | "extensions">,
  ) {
    this.requestId = known.requestId;
    this.wire = call.wire;
    this.method = call.method;
    this.version = known.version;
    this.entry = known.entry;
    this.principal = known.principal;
    this.scope = { tenant: known.entry.tenant, owner: known.principal.id };
    this.extensions = known.extensions;
    this.parameters = call.parameters;
    this.operation = operation;
    this.#call = call;
  }

  get caller(): AbortState {
    return this.#call.caller;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }
}

function tenantOf(request: Message): string {
  return textOf((request as Message & { readonly tenant?: unknown }).tenant);
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

type Recorded = Pick<Call, "wire" | "traffic"> & { readonly method?: DescMethod };

/** Gathers what is told of a call once it is over. A class, as every call makes one; a stream's request is not kept. */
class Recorder {
  readonly #observers: readonly CallObserver[];
  readonly #wire: Wire;
  readonly #traffic: Traffic;
  readonly #method: string;
  readonly #requestId: string;
  readonly #startedAt = performance.now();
  #tenant = "";
  #principal = "";
  #taskId = "";
  #caller: AbortState | undefined;
  #events = 0;

  constructor(observers: readonly CallObserver[], call: Recorded, requestId: string) {
    this.#observers = observers;
    this.#wire = call.wire;
    this.#traffic = call.traffic;
    this.#method = call.method?.name ?? "";
    this.#requestId = requestId;
  }

  admitted(context: CallContext, request: Message): void {
    this.#tenant = context.scope.tenant;
    this.#principal = context.principal.id;
    this.#taskId = taskIdOf(request);
  }

  /** A unary answer: recorded on the next turn of the event loop, when its binding has encoded it. */
  answered(message: Message): void {
    if (this.#observers.length === 0) return;
    this.#taskId ||= taskIdOf(message);
    setImmediate(recordLater, this);
  }

  /** The stream, recorded when it is over. */
  stream(source: AsyncIterable<WireEvent>, caller: AbortState): AsyncIterable<WireEvent> {
    this.#caller = caller;
    for (const observer of this.#observers) observer.streamOpened?.(this.#wire, this.#method);
    return new RecordedStream(source[Symbol.asyncIterator](), this);
  }

  /** A failure; returns the error to send. */
  end(thrown: unknown): A2AError {
    const error = A2AError.from(thrown);
    this.record(error);
    return error;
  }

  event(event: WireEvent): void {
    this.#events += 1;
    for (const observer of this.#observers) observer.eventSent?.(this.#wire);
    if (this.#events === 1) this.#taskId ||= taskIdOf(event.response);
  }

  /** A stream has come to its end. */
  done(): void {
    setImmediate(recordLater, this);
  }

  /** The reader of a stream went away. */
  left(): void {
    this.end(this.#caller?.aborted ? endReason(this.#caller) : new A2AError("CANCELLED"));
  }

  record(error?: A2AError): void {
    const record: CallRecord = {
      requestId: this.#requestId,
      wire: this.#wire,
      method: this.#method,
      tenant: this.#tenant,
      principal: this.#principal,
      taskId: this.#taskId,
      code: error?.row.code ?? "OK",
      reason: error?.reason ?? "",
      durationMs: performance.now() - this.#startedAt,
      receivedBytes: this.#traffic.received,
      sentBytes: this.#traffic.sent,
      stream: this.#caller !== undefined,
      events: this.#events,
      errorId: error?.errorId,
      cause: error?.cause,
    };
    for (const observer of this.#observers) observer.callEnded(record);
  }
}

function recordLater(recorder: Recorder): void {
  recorder.record();
}

/** Passes a stream on and tells how it went, once. No generator, and no async function: each would cost every event an extra turn. */
class RecordedStream implements EventIterator, AsyncIterable<WireEvent> {
  readonly #source: EventIterator;
  readonly #recorder: Recorder;
  #over = false;

  constructor(source: EventIterator, recorder: Recorder) {
    this.#source = source;
    this.#recorder = recorder;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  take(): WireEvent | undefined {
    if (this.#over) return undefined;
    try {
      const event = this.#source.take?.();
      if (event !== undefined) this.#recorder.event(event);
      return event;
    } catch (thrown) {
      return this.#failed(thrown);
    }
  }

  next(): Promise<IteratorResult<WireEvent>> {
    return this.#source.next().then(this.#came, this.#failed);
  }

  async return(): Promise<IteratorResult<WireEvent>> {
    if (!this.#over) {
      this.#over = true;
      this.#recorder.left();
    }
    // Not awaited: a generator that waits for its next event answers only once the call's signal has aborted.
    this.#source.return?.().then(undefined, () => undefined);
    return { done: true, value: undefined };
  }

  readonly #came = (step: IteratorResult<WireEvent>): IteratorResult<WireEvent> => {
    if (step.done) this.#end();
    else this.#tell(step.value);
    return step;
  };

  #tell(event: WireEvent): void {
    try {
      this.#recorder.event(event);
    } catch (thrown) {
      this.#failed(thrown);
    }
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#recorder.done();
  }

  readonly #failed = (thrown: unknown): never => {
    if (this.#over) throw A2AError.from(thrown);
    this.#over = true;
    throw this.#recorder.end(thrown);
  };
}

/** The task that a request or an answer speaks of, by the field names that the contract uses for it. */
function taskIdOf(message: Message): string {
  const fields = message as Message & {
    readonly taskId?: unknown;
    readonly id?: unknown;
    readonly message?: { readonly taskId?: unknown };
    readonly payload?: { readonly value?: { readonly id?: unknown } };
  };
  return (
    textOf(fields.taskId) ||
    textOf(fields.message?.taskId) ||
    textOf(fields.payload?.value?.id) ||
    textOf(fields.id)
  );
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
