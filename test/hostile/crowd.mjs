// Opens connections that say nothing: `node crowd.mjs HOST PORT COUNT`. Says `open` and, when the other side has
// closed them all, `closed`.
import { once } from "node:events";
import { connect } from "node:net";

const [host, port, count] = process.argv.slice(2);
const closings = [];

// Not all at once: the queue of connections that wait to be accepted is short.
for (let opened = 0; opened < Number(count); opened += 100) {
  const batch = Array.from({ length: 100 }, () => connect({ host, port: Number(port) }));
  for (const socket of batch) {
    socket.on("error", () => undefined).resume();
    closings.push(once(socket, "close"));
  }
  await Promise.all(batch.map((socket) => once(socket, "connect")));
}
console.log("open");
await Promise.all(closings);
console.log("closed");
