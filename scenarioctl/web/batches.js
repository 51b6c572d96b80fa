// Whether the transactions of a scenario can be signed as one.

import { post } from "./api.js";

// Asks whether the transactions of a scenario can be signed as one; returns how many they are, 0 if they can't.
export async function batchable(scenario, rows, signal) {
  if (rows.length < 2 || rows.some(({ error, source_chain: chain }) => error || chain !== rows[0].source_chain)) return 0;
  try {
    return (await post("/api/scenario/batch", { id: scenario }, signal)).count;
  } catch (error) {
    // A scenario with a step between them, say: each is signed by itself.
    if (signal.aborted || error.code === "gone") throw error;
    return 0;
  }
}
