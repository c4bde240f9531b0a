/** One event of a `text/event-stream`, as the HTML standard reads it. */
export interface SseEvent {
  /** `message` when the stream names none. */
  readonly type: string;
  readonly data: string;
  readonly id: string | undefined;
  /** Lines that start with a colon, seen since the event before. */
  readonly comments: readonly string[];
  /** Number of `data:` lines that made up `data`. */
  readonly dataLines: number;
}

/** Reads a stream of bytes as server-sent events. Throws on bytes that are not UTF-8. */
export async function* readSse(body: AsyncIterable<Uint8Array>): AsyncGenerator<SseEvent, void> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let pending = "";
  let lines: string[] = [];
  for await (const chunk of body) {
    pending += decoder.decode(chunk, { stream: true });
    // A CR at the very end may be half of a CRLF: it waits for the next chunk.
    for (let cut = cutOf(pending); cut !== undefined; cut = cutOf(pending)) {
      const line = pending.slice(0, cut.at);
      pending = pending.slice(cut.next);
      if (line !== "") lines.push(line);
      else {
        const event = eventOf(lines);
        if (event.dataLines > 0) yield event;
        lines = event.dataLines > 0 ? [] : lines;
      }
    }
  }
}

function cutOf(text: string): { at: number; next: number } | undefined {
  const at = text.search(/\r\n|\n|\r(?!$)/);
  if (at < 0) return undefined;
  return { at, next: at + (text.startsWith("\r\n", at) ? 2 : 1) };
}

function eventOf(lines: readonly string[]): SseEvent {
  const fields = lines.filter((line) => !line.startsWith(":")).map(fieldOf);
  const data = fields.filter(([name]) => name === "data").map(([, value]) => value);
  return {
    type: fields.findLast(([name]) => name === "event")?.[1] ?? "message",
    data: data.join("\n"),
    id: fields.findLast(([name]) => name === "id")?.[1],
    comments: lines.filter((line) => line.startsWith(":")).map((line) => line.slice(1).trim()),
    dataLines: data.length,
  };
}

function fieldOf(line: string): readonly [string, string] {
  const colon = line.indexOf(":");
  if (colon < 0) return [line, ""];
  return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
}
