/** What the benchmark's agent does with a message; the same for every server that is measured. */
export type Plan =
  /** Answers with the message's own parts: the work of the built-in echo agent. */
  | { readonly kind: "echo" }
  /** `chunks N`: one artifact in N pieces. */
  | { readonly kind: "chunks"; readonly count: number }
  /** `hold`: works until it is told to stop. */
  | { readonly kind: "hold" }
  /** `gate KEY N`: waits for the key, then N pieces. */
  | { readonly kind: "gate"; readonly key: string; readonly count: number }
  /** `open KEY`: lets the gate's waiters go. */
  | { readonly kind: "open"; readonly key: string };

export function planOf(text: string): Plan {
  const [word, first = "", second = ""] = text.split(" ");
  switch (word) {
    case "chunks":
      return { kind: "chunks", count: Number(first) };
    case "hold":
      return { kind: "hold" };
    case "gate":
      return { kind: "gate", key: first, count: Number(second) };
    case "open":
      return { kind: "open", key: first };
    default:
      return { kind: "echo" };
  }
}

/** Text of a piece: about what a language model gives at once. */
export const chunkText = (index: number): string => `piece ${String(index).padStart(6, "0")} of it `;

const gates = new Map<string, { readonly opened: Promise<void>; readonly open: () => void }>();

/** The gate of a key, shut until it is opened once. */
export function gateOf(key: string): { readonly opened: Promise<void>; readonly open: () => void } {
  const known = gates.get(key);
  if (known !== undefined) return known;
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const gate = { opened, open };
  gates.set(key, gate);
  return gate;
}
