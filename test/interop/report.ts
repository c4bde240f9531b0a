/** What an operation ended with, as one line of JSON for the table. */
export async function attempt(
  transport: string,
  operation: string,
  work: () => unknown | Promise<unknown>,
): Promise<void> {
  let detail = "";
  try {
    await work();
  } catch (error) {
    detail = String(error);
  }
  console.log(JSON.stringify({ transport, operation, outcome: detail === "" ? "ok" : "failed", detail }));
}
