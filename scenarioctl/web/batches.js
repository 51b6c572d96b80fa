// Scenarios whose transactions were signed as one; known in this browser.

import { get, post } from "./api.js";
import { h } from "./dom.js";
import { grouped } from "./format.js";
import { sentLink } from "./sending.js";
import { keepIn, readKept } from "./storage.js";

const name = (scenario) => `batch ${scenario}`;

// `revision` is that of the scenario when it was signed.
export const keepBatch = (scenario, { chain, hash, revision }) => keepIn("localStorage", name(scenario), { chain, hash, revision });

export const forgetBatch = (scenario) => keepIn("localStorage", name(scenario), null);

// Returns what the chain says of the batch of a scenario that was signed in this browser, for each of its transactions; null without one.
export async function batchSent({ id, revision }, signal) {
  const kept = readKept("localStorage", name(id));
  if (typeof kept?.chain !== "string" || !/^0x[0-9a-f]{64}$/.test(kept.hash)) return null;
  const { chain, hash } = kept;
  let status;
  try {
    status = await get("/api/tx/status", { chain, hash }, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    status = { state: "uncertain" };
  }
  const words = kept.revision === revision ? wordsOf(status) : `Before the last change, the scenario was signed as one transaction. ${wordsOf(status)}`;
  return () => h("p", { class: "notice" }, words, " ", h("a", { href: sentLink(chain, hash, { scenario: id }) }, "See that transaction"), ".");
}

function wordsOf({ state, success, block_number: block }) {
  if (["in-block", "finalized"].includes(state)) {
    const where = typeof block === "number" ? ` in block ${grouped(block)}` : "";
    if (success === true) return `Sent in one transaction with the others${where}. If you sign it again, you pay again.`;
    if (success === false) return `The transaction that did all of them failed${where}: nothing was moved, and its fee is spent.`;
  }
  if (state === "expired") return "It was signed with the others as one transaction, which expired unsent.";
  if (state === "sent") return "Sent in one transaction with the others, which is in no block yet.";
  return "It was signed with the others as one transaction. Whether that was sent is unknown.";
}

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
