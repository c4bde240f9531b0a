import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { A2AError } from "../errors.js";
import { toRestBody } from "../protocol/status.js";

/** Node's answer to what its HTTP/1.1 parser refuses, as an error with a row. Undefined: the connection itself failed. */
function faultOf(code: string | undefined): A2AError | undefined {
  if (code === "HPE_HEADER_OVERFLOW") {
    return new A2AError("HEADERS_TOO_LARGE");
  }
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW") return new A2AError("TOO_LARGE");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return new A2AError("REQUEST_TIMEOUT");
  if (code?.startsWith("HPE_"))
    return new A2AError("INVALID_ARGUMENT", { text: "The request is not valid HTTP." });
  return undefined;
}

/** Answers what is no HTTP request with our envelope, then closes. Listener for `clientError`. */
export function refuseConnection(error: NodeJS.ErrnoException, socket: Duplex): void {
  const fault = faultOf(error.code);
  if (fault === undefined || isAnswering(socket)) socket.destroy();
  else writeFault(socket, fault);
}

/** Writes an error as a whole HTTP/1.1 response where no request could be read, then closes. */
export function writeFault(socket: Duplex, fault: A2AError): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const body = toRestBody(fault);
  const head = [
    `HTTP/1.1 ${fault.row.http} ${STATUS_CODES[fault.row.http] ?? ""}`,
    "connection: close",
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

/** A response that has begun must not get another one into its middle. Node looks at the same field. */
function isAnswering(socket: Duplex): boolean {
  const { _httpMessage: response } = socket as Duplex & { readonly _httpMessage?: ServerResponse | null };
  return response?.headersSent === true;
}
