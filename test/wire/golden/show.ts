import type { ClientHttp2Session, OutgoingHttpHeaders } from "node:http2";

const ID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** An HTTP/1.1 exchange as text: bytes that are not printable are escaped, ids and the date are replaced. */
export function showHttp1(request: Buffer, response: Buffer): string {
  return stable(`${quote(showMessage(request), "> ")}\n${quote(showMessage(response), "< ")}`);
}

/** One call over HTTP/2 as text. */
export async function showHttp2(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body: Uint8Array,
): Promise<string> {
  const stream = session.request(headers);
  const lines: string[] = [];
  const chunks: Buffer[] = [];
  const list = (fields: object) => lines.push(...Object.entries(fields).map(([name, value]) => `${name}: ${value}`));
  stream.on("response", list);
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("trailers", (fields) => {
    lines.push(...framesOf(Buffer.concat(chunks)), "");
    list(fields);
  });
  stream.end(body);
  await new Promise((resolve) => stream.once("close", resolve));
  const asked = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const request = [...asked, "", ...framesOf(Buffer.from(body))].join("\n");
  return stable(`${quote(request, "> ")}\n${quote(lines.join("\n"), "< ")}`);
}

/** Bytes as text: printable ASCII as it is, anything else as `\xNN`, a backslash doubled. */
export function escaped(bytes: Buffer): string {
  return [...bytes].map(escapedByte).join("");
}

function escapedByte(byte: number): string {
  if (byte === 0x5c) return "\\\\";
  return byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`;
}

function showMessage(message: Buffer): string {
  const cut = message.indexOf("\r\n\r\n");
  const head = message.toString("latin1", 0, cut).split("\r\n");
  const raw = message.subarray(cut + 4);
  const body = head.some((line) => /^transfer-encoding: chunked/i.test(line)) ? unchunked(raw) : raw;
  const type = head.find((line) => /^content-type:/i.test(line)) ?? "";
  return [...head, "", ...showBody(body, type)].join("\n");
}

function showBody(body: Buffer, type: string): string[] {
  if (body.length === 0) return [];
  if (/grpc|connect\+/.test(type)) return framesOf(body);
  if (/event-stream|json/.test(type)) return body.toString("utf8").split("\n");
  return [escaped(body)];
}

/** Enveloped messages, one a line: flags, length, content. */
function framesOf(body: Buffer): string[] {
  if (body.length === 0) return [];
  const end = 5 + body.readUInt32BE(1);
  const flags = body.readUInt8(0).toString(16).padStart(2, "0");
  return [`[${flags} ${end - 5}] ${escaped(body.subarray(5, end))}`, ...framesOf(body.subarray(end))];
}

function unchunked(body: Buffer): Buffer {
  const cut = body.indexOf("\r\n");
  const size = Number.parseInt(body.toString("latin1", 0, cut), 16);
  if (!(size > 0)) return Buffer.alloc(0);
  const start = cut + 2;
  return Buffer.concat([body.subarray(start, start + size), unchunked(body.subarray(start + size + 2))]);
}

function quote(text: string, mark: string): string {
  return text
    .split("\n")
    .map((line) => `${mark}${line}`.trimEnd())
    .join("\n");
}

function stable(text: string): string {
  const aliases = new Map<string, string>();
  return text
    .replace(/^(< date: ).*$/gim, "$1<date>")
    .replace(ID, (id) => {
      const alias = aliases.get(id) ?? `<id ${aliases.size + 1}>`;
      aliases.set(id, alias);
      return alias;
    });
}
