import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { readBody } from "../../../src/bindings/body.js";
import type { HttpHeaders } from "../../../src/bindings/http.js";
import { A2AError, type Reason } from "../../../src/errors.js";
import { httpRequest } from "../../support/http-request.js";

const maxBytes = 100;

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.byteLength; at += size) yield bytes.subarray(at, at + size);
}

async function read(
  body: string | Uint8Array | AsyncIterable<Uint8Array>,
  headers: HttpHeaders = {},
): Promise<string> {
  return Buffer.from(await readBody(httpRequest("/", { body, headers }), { maxBytes })).toString();
}

async function reasonOf(reading: Promise<unknown>): Promise<Reason> {
  const thrown = await reading.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(A2AError);
  return (thrown as A2AError).reason;
}

describe("reads", () => {
  it("nothing", async () => expect(await read("")).toBe(""));
  it("one piece", async () => expect(await read("abc")).toBe("abc"));
  it("many pieces", async () => expect(await read(inPieces(Buffer.from("abcdefg"), 2))).toBe("abcdefg"));
  it("exactly the limit", async () => expect(await read("x".repeat(maxBytes))).toHaveLength(maxBytes));

  it.each(["gzip", "x-gzip", " GZIP "])("B39: %s", async (encoding) => {
    expect(await read(gzipSync("hello"), { "content-encoding": encoding })).toBe("hello");
    expect(await read(inPieces(gzipSync("hello"), 3), { "content-encoding": encoding })).toBe("hello");
    expect(await read("", { "content-encoding": encoding })).toBe("");
  });

  it.each(["identity", ""])("encoding %j", async (encoding) => {
    expect(await read("hello", { "content-encoding": encoding })).toBe("hello");
  });
});

describe("refuses", () => {
  it("B41: more than the limit", async () => {
    expect(await reasonOf(read("x".repeat(maxBytes + 1)))).toBe("TOO_LARGE");
    expect(await reasonOf(read(inPieces(Buffer.alloc(maxBytes + 1), 7)))).toBe("TOO_LARGE");
  });

  it("a stated length over the limit, before reading anything", async () => {
    let asked = false;
    const body = {
      async *[Symbol.asyncIterator]() {
        asked = true;
        yield Buffer.from("x");
      },
    };
    expect(await reasonOf(read(body, { "content-length": String(maxBytes + 1) }))).toBe("TOO_LARGE");
    expect(asked).toBe(false);
  });

  it("the rest of a body that is too long is not read", async () => {
    let pulled = 0;
    const endless = (async function* () {
      for (;;) {
        pulled += 1;
        yield Buffer.alloc(60);
      }
    })();
    expect(await reasonOf(read(endless))).toBe("TOO_LARGE");
    expect(pulled).toBe(2);
  });

  it("a bomb", async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const request = httpRequest("/", { body: bomb, headers: { "content-encoding": "gzip" } });
    expect(await reasonOf(readBody(request, { maxBytes: bomb.byteLength }))).toBe("TOO_LARGE");
  });

  it.each([
    ["text that is no gzip", Buffer.from("hello")],
    ["a cut stream", gzipSync("hello").subarray(0, 15)],
  ])("%s", async (_, body) => {
    expect(await reasonOf(read(body, { "content-encoding": "gzip" }))).toBe("PARSE_ERROR");
  });

  it.each(["br", "deflate", "gzip, gzip", "nonsense"])("encoding %s", async (encoding) => {
    expect(await reasonOf(read("hello", { "content-encoding": encoding }))).toBe("MEDIA_TYPE_NOT_SUPPORTED");
  });

  it("a body that breaks off", async () => {
    const broken = (async function* () {
      yield Buffer.from("x");
      throw new Error("ECONNRESET");
    })();
    expect(await reasonOf(read(broken))).toBe("CANCELLED");
  });

  it("what the carrier refuses, with the carrier's own error", async () => {
    const late = (async function* () {
      yield Buffer.from("x");
      throw new A2AError("REQUEST_TIMEOUT");
    })();
    expect(await reasonOf(read(late))).toBe("REQUEST_TIMEOUT");
  });
});
