/** True when the work is done within this time. The work goes on either way. */
export async function settles(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** How long the wires have to say UNAVAILABLE when a drain ends their calls. Milliseconds. */
export const FAREWELL_MS = 1_000;
