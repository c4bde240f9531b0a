import type { Logger } from "pino";
import type { CallObserver } from "../core/telemetry.js";

/** One line a call: no content, no secrets. A failure of ours is an error with its cause; anything else is information. */
export function createAccessLog(logger: Logger): CallObserver {
  return {
    callEnded(record) {
      const { requestId, wire, method, tenant, principal, taskId, code, reason, durationMs } = record;
      const line = {
        requestId,
        wire,
        method,
        ...(tenant && { tenant }),
        ...(principal && { principal }),
        ...(taskId && { taskId }),
        code,
        ...(reason && { reason }),
        durationMs: Math.round(durationMs * 1000) / 1000,
        receivedBytes: record.receivedBytes,
        sentBytes: record.sentBytes,
        ...(record.events > 0 && { events: record.events }),
      };
      if (record.errorId === undefined) logger.info(line, "call");
      else logger.error({ ...line, errorId: record.errorId, err: record.cause }, "call failed");
    },
  };
}
