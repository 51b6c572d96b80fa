// What can be signed: a transaction of a scenario, all of its transactions as one, a draft of a job, or what a signatory signs for an
// open operation of a multisig.

import { get, post } from "./api.js";
import { h } from "./dom.js";
import { accountOf, chains, known, signatoriesOf } from "./known.js";
import { sentFor, sentLink, sentNotices, sentSince } from "./sent.js";

/** @param {URLSearchParams} query @returns {any} */
export function readSource(query) {
  const { scenario, node, batch, job, draft, multisig, act, chain, hash, call } = Object.fromEntries(query);
  if (multisig && chain && hash && ["approve", "execute", "cancel"].includes(act)) return { multisig, act, chain, hash, ...(call && { call }) };
  if (scenario && batch) return { scenario, batch };
  if (job) return { job, ...(draft && { draft }) };
  if (scenario) return { scenario, ...(node && { node }) };
  throw new Error("This link names no transaction: it needs a scenario, a job and its draft, or an operation of a multisig.");
}

// Returns what is to be signed: as it was signed already, or as it stands now.
export async function load(source, record, signal, sender = "") {
  const draw = source.multisig ? operationOf : source.job ? draftOf : source.batch ? batchOf : stepOf;
  const found = record ?? await draw(source, signal, sender);
  const [shown, decoded, chain] = await Promise.all([
    showOf(source, record, signal),
    // What a signatory signs isn't known before who they are.
    found.tx ? post("/api/tx/decode", { chain: found.chain, tx: found.tx }, signal) : { says: found.says, call_data: "" },
    get(`/api/chains/${encodeURIComponent(found.chain)}`, {}, signal),
    chains(),
  ]);
  return {
    chain: found.chain, tx: found.tx, chainRow: chain, chainTitle: chain.title || chain.name, symbol: chain.symbol, role: chain.role, decimals: chain.decimals, accountBytes: chain.account_bytes,
    callData: decoded.call_data, decoded, warnings: found.warnings ?? [], draft: found.draft ?? null, batch: found.batch ?? null, expired: found.expired ?? false, node: found.node ?? "",
    conditional: !source.job && (shown.nodes ?? []).some(({ type }) => type === "condition"), acting: shown.acting ?? null, notes: shown.acting ? found.notes ?? [] : [], before: () => [draftBefore(found), sentOf(source, shown, found, signal)],
  };
}

// Signed as one transaction, the steps of a scenario are checked each alone too.
async function batchOf({ scenario }, signal, sender) {
  const batch = await post("/api/scenario/batch", { id: scenario, ...(sender && { sender }) }, signal);
  return { chain: batch.chain, tx: batch.tx, warnings: batch.warnings, notes: batch.notes, batch: { scenario } };
}

async function stepOf({ scenario, node = "" }, signal, sender) {
  const full = await post("/api/scenario/info/full", { id: scenario, ...(node && { step: node }), ...(sender && { sender }) }, signal);
  return { chain: full.result.source_chain, tx: full.result.tx, warnings: full.warnings, notes: full.notes };
}

async function operationOf({ multisig, act, chain, hash, call = "" }, signal, sender) {
  if (sender) {
    const built = await post(`/api/multisig/${act}`, { as: multisig, chain, call_hash: hash, sender, ...(call && act !== "cancel" && { call_data: call }) }, signal);
    return { chain, tx: built.tx, warnings: built.warnings, notes: built.notes };
  }
  const { operations } = await get("/api/multisig/list", { as: multisig, chains: chain, calls: call }, signal);
  const row = operations.find(({ call_hash: open }) => open === hash);
  if (!row) throw new Error(`This operation of ${multisig} isn't open any more: it ran, or was canceled.`);
  return { chain, tx: "", says: `${{ approve: "Approve", execute: "Run", cancel: "Cancel" }[act]}: ${row.says || "a call that nobody knows"}` };
}

async function draftOf({ job, draft }, signal) {
  const which = draft ? { after: String(Number(draft) - 1), limit: "1" } : { tail: "1" };
  const { mempool: [row] } = await post("/scenario/tx", { id: job, ...which }, signal).catch((error) => {
    // A draft that the store has lost.
    if (error.status === 410 && draft) return { mempool: [] };
    throw error;
  });
  if (!row || (draft && String(row.seq) !== draft)) throw new Error(`Draft ${draft ?? ""} is not among the drafts of this job any more. Open the job and choose another.`);
  if (row.spec_version === undefined) throw new Error(`Draft ${row.seq} is not a transaction: ${row.txType}. There is nothing to sign.`);
  if (row.flag) throw new Error(`Draft ${row.seq} must not be signed: ${row.flag}`);
  return { chain: row.chain, tx: row.tx, draft: { job, draft: String(row.seq) }, sent: row.sent, expired: row.state === "expired", node: row.node, Date: row.Date };
}

// A second signature of a draft makes another transaction, which pays once more.
function draftBefore({ chain, sent }) {
  if (!sent || sent.state === "expired") return null;
  return h("p", { class: "notice" }, sent.state === "uncertain" ? "This draft was signed before and may have been sent. " : "This draft was signed and sent before. ",
    h("a", { href: sentLink(chain, sent.hash) }, "See what became of it"), ". If you sign it again, you pay again.");
}

// What the daemon knows of the scenario, or of that of the job: what was sent of it, and as whom it is made.
export async function showOf({ scenario, job, multisig }, record, signal) {
  if (multisig) return { sent: [], acting: (await known()).find(({ name }) => name === multisig) };
  return post("/api/scenario/show", { id: scenario ?? job }, signal).catch((error) => {
    // What was signed already outlives its scenario.
    if (record && error.status === 404) return { sent: [] };
    throw error;
  });
}

// The notices about a transaction of a scenario that was sent before, and about what was sent of it since the job drafted one; the
// daemon warns of a batch itself.
function sentOf({ scenario, node, batch, job }, { sent }, found, signal) {
  if (job && found.Date) return sentNotices(sentSince(sent, found).filter(({ hash }) => hash !== found.sent?.hash), job, true, signal);
  return scenario && !batch && sentNotices(sentFor(sent, node), scenario, Boolean(node), signal);
}

// Why an account can't sign what is made as another one; "" if it can, or if only the chain tells.
export function barredFrom({ acting, draft }) {
  if (!acting) return () => "";
  const members = signatoriesOf(acting);
  return ({ key }) => {
    if (members.length && !members.includes(key)) return `is no signatory of ${acting.name} (${acting.acting})`;
    return draft && acting.signer && key !== accountOf(acting.signer) ? `is not the signatory for whom the job drafts it, ${acting.signer}` : "";
  };
}
