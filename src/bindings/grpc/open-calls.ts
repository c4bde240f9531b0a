import type { EventEmitter } from "node:events";
import type { Deadline, Metadata } from "@grpc/grpc-js";
import { A2AError } from "../../errors.js";
import { CallEnding } from "../../protocol/ending.js";
import { Registry } from "../../protocol/registry.js";
import { LONGEST_MS } from "../deadline.js";

/** What calls of every kind have in grpc-js. */
export interface GrpcCall extends EventEmitter {
  readonly metadata: Metadata;
  readonly cancelled: boolean;
  getDeadline(): Deadline;
  sendMetadata(metadata: Metadata): void;
}

/** A caller counts from when it sent: when its time is up it cancels a little before our own count has ended. */
const HASTE_MS = 50;

/** A call, and what can end it from outside. It watches its caller once somebody wants to know. */
export class OpenCall extends CallEnding {
  /** Tells it from the others of its port. */
  readonly number: number;
  readonly #call: GrpcCall;
  #watching = false;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #answer: ((reason: A2AError) => void) | undefined;

  constructor(call: GrpcCall, number: number) {
    super();
    this.#call = call;
    this.number = number;
  }

  override get aborted(): boolean {
    this.#watch();
    return super.aborted;
  }

  /** What to do beside telling listeners when the call is interrupted: whoever is asked may take no notice of it. */
  onInterrupt(answer: (reason: A2AError) => void): void {
    this.#answer = answer;
  }

  /** Ends the call from our side, with this reason. */
  interrupt(reason: A2AError): void {
    if (this.#closed) return;
    this.endNow(reason);
    this.#answer?.(reason);
  }

  /** The call is over: from now on nothing aborts. (grpc-js reports calls that went well as cancelled, too.) */
  close(): void {
    this.#closed = true;
    if (this.#timer !== undefined) clearTimeout(this.#timer);
  }

  /** The caller cancels or leaves, or its deadline passes: that is DEADLINE_EXCEEDED. */
  #watch(): void {
    if (this.#watching) return;
    this.#watching = true;
    const call = this.#call;
    call.on("cancelled", () => this.#cancelled());
    if (call.cancelled) this.endNow(undefined);
    // grpc-js sends the status itself; without a timer of ours a client that reads nothing would keep the reader.
    const leftMs = Number(call.getDeadline()) - Date.now();
    if (leftMs <= LONGEST_MS) this.#timer = setTimeout(() => this.#expire(), leftMs);
  }

  #cancelled(): void {
    if (Date.now() >= Number(this.#call.getDeadline()) - HASTE_MS) this.#expire();
    else if (!this.#closed) this.endNow(undefined);
  }

  #expire(): void {
    this.interrupt(new A2AError("DEADLINE_EXCEEDED"));
  }
}

/** The calls that run. */
export interface OpenCalls {
  add(call: GrpcCall): OpenCall;
  remove(call: OpenCall): void;
  /** Ends every call with this reason. */
  interrupt(reason: A2AError): void;
  /** Resolves when no call is open. */
  idle(): Promise<void>;
}

export function createOpenCalls(): OpenCalls {
  const open = new Registry<number, OpenCall>();
  let last = 0;
  const waiting: (() => void)[] = [];
  return {
    add(call) {
      last += 1;
      const opened = new OpenCall(call, last);
      open.set(last, opened);
      return opened;
    },
    remove(opened) {
      opened.close();
      open.delete(opened.number);
      if (open.size === 0) for (const wake of waiting.splice(0)) wake();
    },
    interrupt(reason) {
      for (const opened of open.values()) opened.interrupt(reason);
    },
    idle: () => (open.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}
