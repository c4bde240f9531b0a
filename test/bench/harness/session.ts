import { type Load, startLoad } from "./load.js";
import { type Server, type ServerSpec, startServer } from "./server.js";

/** Starts the generator and some servers, one after the other, and stops them again whatever happens. */
export async function withServers<Key extends string, T>(
  specs: Readonly<Record<Key, ServerSpec>>,
  use: (load: Load, servers: Readonly<Record<Key, Server>>) => Promise<T>,
): Promise<T> {
  const load = startLoad();
  const servers: Partial<Record<Key, Server>> = {};
  try {
    for (const [key, spec] of Object.entries(specs) as [Key, ServerSpec][])
      servers[key] = await startServer(spec);
    return await use(load, servers as Readonly<Record<Key, Server>>);
  } finally {
    load.stop();
    await Promise.all(Object.values<Server>(servers as Record<Key, Server>).map((server) => server.stop()));
  }
}
