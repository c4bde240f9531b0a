import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { gathered } from "../../../src/cli/log.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function createSink() {
  const written: string[] = [];
  const flush = vi.fn((done?: (error?: Error) => void) => done?.());
  return { written, flush, flushSync: vi.fn(), write: (text: string) => written.push(text) };
}

it("writes the lines of 50 ms together, in their order", () => {
  const sink = createSink();
  const log = gathered(sink);
  log.write("one\n");
  vi.advanceTimersByTime(30);
  log.write("two\n");
  vi.advanceTimersByTime(19);
  expect(sink.written).toEqual([]);
  vi.advanceTimersByTime(1);
  log.write("three\n");
  vi.advanceTimersByTime(50);
  expect(sink.written).toEqual(["one\ntwo\n", "three\n"]);
});

it("does not wait with 16 KiB", () => {
  const sink = createSink();
  const log = gathered(sink);
  const line = `${"x".repeat(1023)}\n`;
  for (let count = 1; count <= 17; count += 1) log.write(line);
  expect(sink.written).toEqual([line.repeat(16)]);
  vi.advanceTimersByTime(50);
  expect(sink.written.join("")).toBe(line.repeat(17));
  expect(vi.getTimerCount()).toBe(0);
});

it("passes on what waits when the process ends", () => {
  const sink = createSink();
  const log = gathered(sink);
  log.write("last\n");
  sink.flushSync.mockImplementation(() => expect(sink.written).toEqual(["last\n"]));
  log.flushSync();
  expect(sink.flushSync).toHaveBeenCalledOnce();
});

it("passes on what waits when it is flushed, and nothing twice", () => {
  const sink = createSink();
  const log = gathered(sink);
  const done = vi.fn();
  log.write("last\n");
  log.flush(done);
  expect(sink.written).toEqual(["last\n"]);
  expect(done).toHaveBeenCalledOnce();
  log.flush();
  vi.advanceTimersByTime(50);
  expect(sink.written).toEqual(["last\n"]);
  expect(sink.flush).toHaveBeenCalledTimes(2);
});
