// From a draft to a sent transaction: Account → Simulate → Sign → Send, for a transaction of a scenario, all of its transactions as one,
// or a draft of a job.

import { get, onGone, post } from "./api.js";
import { accountStep } from "./accounts.js";
import { keepArrival } from "./arrivals.js";
import { argumentsOf } from "./call_tree.js";
import { copyButton, fill, h, problemOf } from "./dom.js";
import { account as shown } from "./format.js";
import { progressOf } from "./progress.js";
import { sendStep } from "./sending.js";
import { sentFor, sentLink, sentNotices } from "./sent.js";
import { signatureStep } from "./signature.js";
import { forget, keep, kept } from "./signed.js";
import { risksOf, simulationStep } from "./simulation.js";

const STEPS = ["Account", "Simulate", "Sign", "Send"];

export async function signView(query, signal) {
  const source = readSource(query);
  const name = new URLSearchParams(source).toString();
  const page = h("section", { class: "signing" });
  const back = source.job ?? source.scenario;
  const head = h("div", { class: "title" },
    h("h1", { tabindex: "-1" }, "Sign and send"),
    h("p", { class: "hint" }, h("a", { href: `#/create/?diagramData=${encodeURIComponent(back)}` }, source.job ? "Back to the job" : "Back to the scenario")));

  async function start() {
    const record = kept(name);
    try {
      const transaction = await load(source, record, signal);
      fill(page, head, record ? waiting(record, transaction, start, signal) : steps(transaction, source, name, signal));
    } catch (error) {
      if (!record || error.code === "gone") throw error;
      // After an upgrade of the runtime it may no longer be read, but it can still be discarded.
      fill(page, head, problemOf(error), waiting(record, null, start, signal));
    }
  }

  await start();
  return page;
}

function readSource(query) {
  const { scenario, node, batch, job, draft } = Object.fromEntries(query);
  if (scenario && batch) return { scenario, batch };
  if (job) return { job, ...(draft && { draft }) };
  if (scenario) return { scenario, ...(node && { node }) };
  throw new Error("This link names no transaction: it needs a scenario, or a job and its draft.");
}

// Returns what is to be signed: as it was signed already, or as it stands now.
async function load(source, record, signal) {
  const draw = source.job ? draftOf : source.batch ? batchOf : stepOf;
  const found = record ?? await draw(source, signal);
  const [before, decoded, chain] = await Promise.all([
    sentBefore(source, record, signal),
    post("/api/tx/decode", { chain: found.chain, tx: found.tx }, signal),
    get(`/api/chains/${encodeURIComponent(found.chain)}`, {}, signal),
  ]);
  return {
    chain: found.chain, tx: found.tx, chainRow: chain, chainTitle: chain.title || chain.name, symbol: chain.symbol, role: chain.role, decimals: chain.decimals, accountBytes: chain.account_bytes,
    callData: decoded.call_data, decoded, warnings: found.warnings ?? [], draft: found.draft ?? null, batch: found.batch ?? null, before: () => [draftBefore(found), before()],
  };
}

// Signed as one transaction, the steps of a scenario are checked each alone too.
async function batchOf({ scenario }, signal) {
  const batch = await post("/api/scenario/batch", { id: scenario }, signal);
  return { chain: batch.chain, tx: batch.tx, warnings: batch.warnings, batch: { scenario } };
}

async function stepOf({ scenario, node = "" }, signal) {
  const full = await post("/api/scenario/info/full", { id: scenario, ...(node && { step: node }) }, signal);
  return { chain: full.result.source_chain, tx: full.result.tx, warnings: full.warnings };
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
  return { chain: row.chain, tx: row.tx, draft: { job, draft: String(row.seq) }, sent: row.sent };
}

function what(transaction, refresh) {
  const { decoded, chainTitle } = transaction;
  return h("section", { class: "card", "aria-labelledby": "what" },
    h("h2", { id: "what" }, `On ${chainTitle}`),
    h("p", { class: "says" }, decoded.says),
    transaction.warnings.map((warning) => h("p", { class: "notice" }, warning)),
    transaction.before(),
    argumentsOf(decoded, transaction.tx),
    h("div", { class: "actions" }, copyButton("Copy hex", transaction.tx), refresh));
}

// A second signature of a draft makes another transaction, which pays once more.
function draftBefore({ chain, sent }) {
  if (!sent || sent.state === "expired") return null;
  return h("p", { class: "notice" }, sent.state === "uncertain" ? "This draft was signed before and may have been sent. " : "This draft was signed and sent before. ",
    h("a", { href: sentLink(chain, sent.hash) }, "See what became of it"), ". If you sign it again, you pay again.");
}

// Returns what makes the notices about a transaction of a scenario that was sent before.
async function sentBefore({ scenario, node, batch }, record, signal) {
  // The daemon warns of a batch itself.
  if (!scenario || batch) return () => [];
  const { sent } = await post("/api/scenario/show", { id: scenario }, signal).catch((error) => {
    // What was signed already outlives its scenario.
    if (record && error.status === 404) return { sent: [] };
    throw error;
  });
  return () => sentNotices(sentFor(sent, node), scenario, Boolean(node), signal);
}

// A transaction that was signed in this tab and not sent yet.
function waiting(record, transaction, start, signal) {
  const place = h("div");
  const discard = h("button", { type: "button", class: "danger", onclick: async () => {
    if (!confirm("Discard the signature? The transaction has not been sent.")) return;
    forget(record.hash);
    try {
      await start();
    } catch (error) {
      fill(place, problemOf(error));
    }
  } }, "Discard the signature");
  return [
    progressOf(STEPS.map((each, number) => [each, number < 3 ? "done" : "now"]), "Progress"),
    transaction && what(transaction),
    h("section", { class: "card step", "aria-labelledby": "step-send" },
      h("h2", { id: "step-send", tabindex: "-1" }, "4. Send"),
      h("p", {}, "Signed by ", shown(record.address)),
      sendStep(record, signal, discard), h("div", { class: "actions" }, discard), place),
  ];
}

function steps(transaction, source, name, signal) {
  const state = { account: null, passed: null, check: null, anyway: false };
  const progress = h("div");
  const shownWhat = h("div");
  const gate = h("div");
  const all = h("div");

  const simulation = simulationStep(transaction, (passed, check) => {
    Object.assign(state, { passed, check, anyway: false });
    if (passed && source.scenario && !source.batch) keepArrival(source, check);
    next();
  }, () => {
    signature.clear();
    if (state.account) simulation.simulate(state.account);
  }, signal);
  const signature = signatureStep(transaction, signed, signal);
  const account = accountStep(transaction.chainRow, (chosen, person) => {
    state.account = chosen;
    signature.clear();
    if (chosen) simulation.simulate(chosen);
    else {
      state.passed = null;
      simulation.clear();
      next();
    }
    // Whoever pressed a button that is gone goes on with the next step.
    if (chosen && person) headings[1].focus();
  }, signal);

  function next() {
    const open = state.account && (state.passed || state.anyway);
    const at = !state.account ? 0 : open ? 2 : 1;
    fill(progress, progressOf(STEPS.map((each, number) => [each, number < at ? "done" : number === at ? "now" : "later"]), "Progress"));
    fill(gate, state.account && state.passed === false && !state.anyway && [
      h("div", { class: "notice", id: "risks" }, risksOf(transaction, state.check).map((risk) => h("p", {}, risk))),
      h("button", { type: "button", class: "danger", "aria-describedby": "risks", onclick: () => { state.anyway = true; next(); headings[2].focus(); } }, "Sign anyway"),
    ]);
    if (open) signature.open(state.account);
    else signature.clear(state.passed === false ? "The simulation did not pass." : undefined);
  }

  function signed({ tx, hash, until }) {
    const signing = { ...transaction, ...transaction.toSign };
    const record = { source: name, chain: signing.chain, tx: signing.tx, signed: tx, hash, address: state.account.here, until, ...(transaction.draft && { draft: transaction.draft }) };
    keep(name, record);
    fill(all, waiting(record, signing, async () => { location.reload(); }, signal));
    all.querySelector("#step-send").focus();
  }

  async function refresh() {
    try {
      const again = await load(source, null, signal);
      if (again.tx === transaction.tx) {
        fill(shownWhat, what(transaction, button()), h("p", { class: "hint", role: "status" }, "Nothing has changed."));
        return;
      }
      // A verdict, a payload and a signature belong to one transaction.
      Object.assign(transaction, again);
      fill(shownWhat, what(transaction, button()), h("p", { class: "notice", role: "status" }, "The transaction has changed. It is simulated again."));
      signature.clear();
      if (state.account) simulation.simulate(state.account);
    } catch (error) {
      if (!signal.aborted) fill(shownWhat, what(transaction, button()), problemOf(error));
    }
  }
  const button = () => h("button", { type: "button", onclick: ({ target }) => { target.disabled = true; refresh(); } }, "Refresh");

  const headings = STEPS.map((each, number) => h("h2", { id: `step-${each.toLowerCase()}`, tabindex: "-1" }, `${number + 1}. ${each}`));
  const bodies = [account, [simulation.body, gate], signature.body, h("p", { class: "hint" }, "Comes after the signature.")];
  fill(shownWhat, what(transaction, button()));
  fill(all, progress, shownWhat, headings.map((heading, number) => h("section", { class: "card step", "aria-labelledby": heading.id }, heading, bodies[number])));
  next();
  onGone((gone) => {
    // What an outage kept from being simulated is simulated when the daemon is back.
    if (!gone && state.account && state.passed === false && !state.anyway) simulation.simulate(state.account);
  }, signal);
  return all;
}
