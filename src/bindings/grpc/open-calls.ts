import type { EventEmitter } from "node:events";
import type { Deadline, Metadata } from "@grpc/grpc-js";
import { A2AError } from "../../errors.js";
import { Registry } from "../../protocol/registry.js";

/** What calls of every kind have in grpc-js. */
export interface GrpcCall extends EventEmitter {
  readonly metadata: Metadata;
  readonly cancelled: boolean;
  getDeadline(): Deadline;
  sendMetadata(metadata: Metadata): void;
}

/** A caller counts from when it sent: when its time is up it cancels a little before our own count has ended. */
const HASTE_MS = 50;

/** What can end a call from outside. A class, and its signal made on demand, because every call has one. */
export class CallSignal {
  /** Tells it from the others of its port. */
  readonly number: number;
  readonly #call: GrpcCall;
  #controller: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #reason: A2AError | undefined;
  #answer: ((reason: A2AError) => void) | undefined;

  constructor(call: GrpcCall, number: number) {
    this.#call = call;
    this.number = number;
  }

  /** What to do beside aborting the signal when the call is interrupted: whoever is asked may take no notice of it. */
  onInterrupt(answer: (reason: A2AError) => void): void {
    this.#answer = answer;
  }

  /** Aborts when the caller cancels or leaves, and with DEADLINE_EXCEEDED when the call's deadline passes. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      this.#watch();
    }
    return this.#controller.signal;
  }

  /** Ends the call from our side, with this reason. */
  interrupt(reason: A2AError): void {
    if (this.#closed) return;
    this.#reason ??= reason;
    this.#controller?.abort(this.#reason);
    this.#answer?.(this.#reason);
  }

  /** The call is over: from now on nothing aborts. (grpc-js reports calls that went well as cancelled, too.) */
  close(): void {
    this.#closed = true;
    if (this.#timer !== undefined) clearTimeout(this.#timer);
  }

  #watch(): void {
    const call = this.#call;
    const deadline = Number(call.getDeadline());
    const expire = () => this.interrupt(new A2AError("DEADLINE_EXCEEDED"));
    call.on("cancelled", () => {
      if (Date.now() >= deadline - HASTE_MS) expire();
      else if (!this.#closed) this.#controller?.abort();
    });
    if (this.#reason !== undefined) this.#controller?.abort(this.#reason);
    else if (call.cancelled) this.#controller?.abort();
    // grpc-js sends the status itself; without a timer of ours a client that reads nothing would keep the reader.
    if (Number.isFinite(deadline)) this.#timer = setTimeout(expire, deadline - Date.now());
  }
}

/** The calls that run. */
export interface OpenCalls {
  add(call: GrpcCall): CallSignal;
  remove(signal: CallSignal): void;
  /** Ends every call with this reason. */
  interrupt(reason: A2AError): void;
  /** Resolves when no call is open. */
  idle(): Promise<void>;
}

export function createOpenCalls(): OpenCalls {
  const open = new Registry<number, CallSignal>();
  let last = 0;
  const waiting: (() => void)[] = [];
  return {
    add(call) {
      last += 1;
      const signal = new CallSignal(call, last);
      open.set(last, signal);
      return signal;
    },
    remove(signal) {
      signal.close();
      open.delete(signal.number);
      if (open.size === 0) for (const wake of waiting.splice(0)) wake();
    },
    interrupt(reason) {
      for (const signal of open.values()) signal.interrupt(reason);
    },
    idle: () => (open.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}
