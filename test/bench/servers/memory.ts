// Loaded into a server before its own code: tells its parent how much heap is in use after a full collection.

process.on("message", (message) => {
  if (message !== "memory") return;
  globalThis.gc?.();
  process.send?.({ heapBytes: process.memoryUsage().heapUsed });
});
process.channel?.unref();
