import { createParser, type EventSourceMessage } from "eventsource-parser";

/** The events of a whole text/event-stream as an independent parser reads them. Throws on what it cannot read. */
export function parseEvents(text: string, comments: string[] = []): EventSourceMessage[] {
  const events: EventSourceMessage[] = [];
  const parser = createParser({
    onEvent: (event) => events.push(event),
    onComment: (comment) => comments.push(comment),
    onError: (error) => {
      throw error;
    },
  });
  parser.feed(text);
  return events;
}
