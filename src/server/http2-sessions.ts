import { constants, type Http2Server, type ServerHttp2Session } from "node:http2";

/** The HTTP/2 connections of a port. */
export interface Http2Sessions {
  /** Says GOAWAY on all: open streams go on, new ones are not taken. Connections to come get it with their first stream. */
  drain(): void;
  /** Ends all with an error: a closed socket alone looks to many clients like the proper end of their streams. */
  cut(): void;
}

/** How long a connection may do nothing. Milliseconds. */
export interface SessionLimits {
  /** Until the client's first frame, its SETTINGS. */
  readonly helloMs: number;
  /** Without an open stream. */
  readonly idleMs: number;
}

/** Keeps count of a server's connections, since closing the server ends none of them, and closes those that do nothing. */
export function watchSessions(server: Http2Server, { helloMs, idleMs }: SessionLimits): Http2Sessions {
  const sessions = new Set<ServerHttp2Session>();
  let draining = false;
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    cutWhenSilent(session, helloMs);
    closeWhenIdle(session, idleMs);
    if (draining) session.once("stream", () => session.close());
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

/** Nothing can be said to a client that has not finished its preface. */
function cutWhenSilent(session: ServerHttp2Session, helloMs: number): void {
  const timer = setTimeout(() => session.destroy(), helloMs);
  const stop = () => clearTimeout(timer);
  session.once("remoteSettings", stop);
  session.once("close", stop);
}

function closeWhenIdle(session: ServerHttp2Session, idleMs: number): void {
  let streams = 0;
  const ended = () => {
    streams -= 1;
  };
  session.on("stream", (stream) => {
    streams += 1;
    stream.on("close", ended);
  });
  session.setTimeout(idleMs, () => {
    if (streams === 0) session.close();
  });
}
