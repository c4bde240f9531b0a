/** `normal`: a commit survives a crash of the process. `full`: also one of the machine, at the price of a disk flush for each transaction. */
export type Durability = "normal" | "full";

/** A store could not be opened. The message is one line for the operator and names the file. */
export class StoreOpenError extends Error {
  override readonly name = "StoreOpenError";
}
