import type { A2AError } from "../errors.js";
import type { Dispatcher } from "./context.js";

/** The same dispatcher, which takes no call while there is a refusal: that is then the answer, logged and counted like any other. */
export function createGate(dispatcher: Dispatcher, refusal: () => A2AError | undefined): Dispatcher {
  return {
    ...dispatcher,
    call(call) {
      const refused = refusal();
      return refused === undefined ? dispatcher.call(call) : Promise.reject(dispatcher.refuse(call, refused));
    },
  };
}
