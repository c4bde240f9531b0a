import type { Message } from "@bufbuild/protobuf";
import type { Principal } from "../agents/agent.js";
import type { Call, CallContext, Reply } from "./context.js";

/** Runs the rest of the chain. */
export type Next = () => Promise<Reply>;

/** A check or change of the user's own, between the gateway's checks and the operation. Throw A2AError to refuse. */
export type Middleware = (context: CallContext, request: Message, next: Next) => Promise<Reply>;

/** Who calls. Undefined: nobody in particular. Throw UNAUTHENTICATED to refuse. */
export type Authenticate = (call: Call) => Principal | undefined | Promise<Principal | undefined>;
