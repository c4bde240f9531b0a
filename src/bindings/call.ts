import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { Call, Parameters, Traffic, Wire } from "../core/context.js";
import type { Caller } from "../protocol/ending.js";

/** What a binding knows about a call. */
export interface CallInit extends Omit<Call, "signal"> {
  /** An HTTP request, a gRPC call, or one of these with a deadline. */
  readonly caller: Caller;
}

/** A call for the dispatcher. A class, as every call makes one: a literal with a getter would cost twenty times as much. */
export class BoundCall implements Call {
  readonly wire: Wire;
  readonly method: DescMethod;
  readonly request: Message;
  readonly addressTenant: string | undefined;
  readonly parameters: Parameters;
  readonly queryVersion: string | undefined;
  readonly impliedVersion: string | undefined;
  readonly traffic: Traffic;
  readonly caller: Caller;

  constructor(init: CallInit) {
    this.wire = init.wire;
    this.method = init.method;
    this.request = init.request;
    this.addressTenant = init.addressTenant;
    this.parameters = init.parameters;
    this.queryVersion = init.queryVersion;
    this.impliedVersion = init.impliedVersion;
    this.traffic = init.traffic;
    this.caller = init.caller;
  }

  get signal(): AbortSignal {
    return this.caller.signal;
  }
}
