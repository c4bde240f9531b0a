import { constants, type Http2Server, type ServerHttp2Session } from "node:http2";

/** The HTTP/2 connections of a port. */
export interface Http2Sessions {
  /** Says GOAWAY on all, those to come included: open streams go on, new ones are not taken. */
  drain(): void;
  /** Ends all with an error: a closed socket alone looks to many clients like the proper end of their streams. */
  cut(): void;
}

/**
 * Keeps count of a server's connections, since closing the server ends none of them. One without an open
 * stream is closed after `idleMs`.
 */
export function watchSessions(server: Http2Server, idleMs: number): Http2Sessions {
  const sessions = new Set<ServerHttp2Session>();
  let draining = false;
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    closeWhenIdle(session, idleMs);
    if (draining) session.close();
  });
  return {
    drain() {
      draining = true;
      for (const session of sessions) session.close();
    },
    cut() {
      for (const session of sessions) session.destroy(new Error("cut"), constants.NGHTTP2_CANCEL);
    },
  };
}

function closeWhenIdle(session: ServerHttp2Session, idleMs: number): void {
  let streams = 0;
  session.on("stream", (stream) => {
    streams++;
    stream.once("close", () => streams--);
  });
  session.setTimeout(idleMs, () => {
    if (streams === 0) session.close();
  });
}
