// From a draft to a sent transaction: Account → Simulate → Sign → Send, for a transaction of a scenario, all of its transactions as one,
// a draft of a job, or what a signatory signs for an open operation of a multisig.

import { get, onGone, post } from "./api.js";
import { accountStep } from "./accounts.js";
import { keepArrival } from "./arrivals.js";
import { argumentsOf, paymentsOf } from "./call_tree.js";
import { confirmed } from "./dialog.js";
import { copyButton, fill, h, problemOf } from "./dom.js";
import { nameChains } from "./format.js";
import { accountOf, approvalsOf, known, signatoriesOf } from "./known.js";
import { progressOf } from "./progress.js";
import { sendStep } from "./sending.js";
import { sentFor, sentLink, sentNotices, sentSince } from "./sent.js";
import { signatureStep } from "./signature.js";
import { forget, keep, kept } from "./signed.js";
import { insistence, risksOf, simulationStep } from "./simulation.js";

const STEPS = ["Account", "Simulate", "Sign", "Send"];

export async function signView(query, signal) {
  const source = readSource(query);
  const name = new URLSearchParams(source).toString();
  const page = h("section", { class: "signing" });
  const back = source.multisig ? approvalsOf(source.multisig) : `#/create/?diagramData=${encodeURIComponent(source.job ?? source.scenario)}`;
  const head = h("div", { class: "title" },
    h("h1", { tabindex: "-1" }, "Sign and send"),
    h("p", { class: "hint" }, h("a", { href: back }, source.multisig ? "Back to the waiting approvals" : source.job ? "Back to the job" : "Back to the scenario")));

  async function start() {
    const record = kept(name);
    try {
      const transaction = await load(source, record, signal);
      fill(page, head, record ? waiting(record, transaction, start, signal)
        : transaction.expired ? [what(transaction), expired(source, transaction, signal)] : steps(transaction, source, name, signal));
    } catch (error) {
      if (!record && source.scenario && error.status === 409) {
        // Whoever it was made for has approved it already; the others find it where it waits.
        const { acting } = await showOf(source, null, signal);
        if (!acting) throw error;
        fill(page, head, problemOf(error), h("div", { class: "actions" }, h("a", { class: "button primary", href: approvalsOf(acting.name) }, `Waiting approvals of ${acting.name}`)));
        return;
      }
      if (!record || error.code === "gone") throw error;
      // After an upgrade of the runtime it may no longer be read, but it can still be discarded.
      fill(page, head, problemOf(error), waiting(record, null, start, signal));
    }
  }

  await start();
  return page;
}

function readSource(query) {
  const { scenario, node, batch, job, draft, multisig, act, chain, hash, call } = Object.fromEntries(query);
  if (multisig && chain && hash && ["approve", "execute", "cancel"].includes(act)) return { multisig, act, chain, hash, ...(call && { call }) };
  if (scenario && batch) return { scenario, batch };
  if (job) return { job, ...(draft && { draft }) };
  if (scenario) return { scenario, ...(node && { node }) };
  throw new Error("This link names no transaction: it needs a scenario, a job and its draft, or an operation of a multisig.");
}

// Returns what is to be signed: as it was signed already, or as it stands now.
async function load(source, record, signal, sender = "") {
  const draw = source.multisig ? operationOf : source.job ? draftOf : source.batch ? batchOf : stepOf;
  const found = record ?? await draw(source, signal, sender);
  const [shown, decoded, chain, { chains }] = await Promise.all([
    showOf(source, record, signal),
    // What a signatory signs isn't known before who they are.
    found.tx ? post("/api/tx/decode", { chain: found.chain, tx: found.tx }, signal) : { says: found.says, call_data: "" },
    get(`/api/chains/${encodeURIComponent(found.chain)}`, {}, signal),
    get("/api/chains", {}, signal),
  ]);
  nameChains(chains);
  return {
    chain: found.chain, tx: found.tx, chainRow: chain, chainTitle: chain.title || chain.name, symbol: chain.symbol, role: chain.role, decimals: chain.decimals, accountBytes: chain.account_bytes,
    callData: decoded.call_data, decoded, warnings: found.warnings ?? [], draft: found.draft ?? null, batch: found.batch ?? null, expired: found.expired ?? false, node: found.node ?? "",
    acting: shown.acting ?? null, notes: shown.acting ? found.notes ?? [] : [], before: () => [draftBefore(found), sentOf(source, shown, found, signal)],
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

function what(transaction, refresh) {
  const { decoded, chainTitle } = transaction;
  return h("section", { class: "card", "aria-labelledby": "what" },
    h("h2", { id: "what" }, `On ${chainTitle}`),
    h("p", { class: "says" }, decoded.says),
    paymentsOf(decoded),
    transaction.notes.map((note) => h("p", { class: "acting" }, note)),
    transaction.warnings.map((warning) => h("p", { class: "notice" }, warning)),
    transaction.before(),
    transaction.tx && [argumentsOf(decoded, transaction.tx), h("div", { class: "actions" }, copyButton("Copy hex", transaction.tx), refresh)]);
}

// A second signature of a draft makes another transaction, which pays once more.
function draftBefore({ chain, sent }) {
  if (!sent || sent.state === "expired") return null;
  return h("p", { class: "notice" }, sent.state === "uncertain" ? "This draft was signed before and may have been sent. " : "This draft was signed and sent before. ",
    h("a", { href: sentLink(chain, sent.hash) }, "See what became of it"), ". If you sign it again, you pay again.");
}

// What the daemon knows of the scenario, or of that of the job: what was sent of it, and as whom it is made.
async function showOf({ scenario, job, multisig }, record, signal) {
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
function barredFrom({ acting, draft }) {
  if (!acting) return () => "";
  const members = signatoriesOf(acting);
  return ({ key }) => {
    if (members.length && !members.includes(key)) return `is no signatory of ${acting.name} (${acting.acting})`;
    return draft && acting.signer && key !== accountOf(acting.signer) ? `is not the signatory for whom the job drafts it, ${acting.signer}` : "";
  };
}

// In place of the steps, for a draft that is too old to be signed: the job drafts it again.
function expired({ job }, { node }, signal) {
  const said = h("div", { "aria-live": "polite" });
  const button = h("button", { type: "button", class: "primary", onclick: async () => {
    button.disabled = true;
    fill(said, h("p", {}, "Running…"));
    try {
      // It goes on when somebody leaves the view.
      const { mempool } = await post("/job/run", { id: job });
      const made = mempool.find((row) => (row.node ?? "") === node && row.spec_version !== undefined);
      if (!signal.aborted) location.hash = made ? `#/sign/?${new URLSearchParams({ job, draft: made.seq })}` : `#/create/?diagramData=${encodeURIComponent(job)}`;
    } catch (error) {
      if (!signal.aborted) fill(said, problemOf(error));
    } finally {
      button.disabled = false;
    }
  } }, "Make a new one");
  return [h("p", { class: "notice" }, "This draft has expired."), h("div", { class: "actions" }, button), h("p", { class: "hint" }, "Runs the job once more now."), said];
}

// A transaction that was signed in this browser and not sent yet.
function waiting(record, transaction, start, signal) {
  const place = h("div");
  const discard = h("button", { type: "button", class: "danger", onclick: async () => {
    if (!await confirmed("Discard the signature?", "The transaction has not been sent. To send it later, you have to sign it again.", "Discard the signature", "Keep it")) return;
    forget(record.hash);
    try {
      await start();
    } catch (error) {
      fill(place, problemOf(error));
    }
  } }, "Discard the signature");
  // Nothing is lost with a signature that is not valid any more.
  const anew = async () => {
    forget(record.hash);
    await start();
  };
  return [
    progressOf(STEPS.map((each, number) => [each, number < 3 ? "done" : "now"]), "Progress"),
    transaction && what(transaction),
    h("section", { class: "card step", "aria-labelledby": "step-send" },
      h("h2", { id: "step-send", tabindex: "-1" }, "4. Send"),
      sendStep(record, transaction?.chainTitle ?? record.chain, signal, discard, anew), place),
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
    if (chosen) begin(chosen);
    else {
      state.passed = null;
      simulation.clear();
      next();
    }
    // Whoever pressed a button that is gone goes on with the next step.
    if (chosen && person) headings[1].focus();
  }, signal, barredFrom(transaction));

  // What somebody signs for another account depends on who they are, and on who signed before.
  async function begin(chosen) {
    if (!transaction.acting || source.job) {
      simulation.simulate(chosen);
      return;
    }
    state.passed = null;
    simulation.clear();
    next();
    try {
      const again = await load(source, null, signal, chosen.here);
      if (state.account !== chosen) return;
      Object.assign(transaction, again);
      fill(shownWhat, what(transaction, button()));
      simulation.simulate(chosen);
    } catch (error) {
      if (!signal.aborted && state.account === chosen) fill(shownWhat, what(transaction, button()), problemOf(error, () => begin(chosen)));
    }
  }

  function next() {
    const open = state.account && (state.passed || state.anyway);
    const at = !state.account ? 0 : open ? 2 : 1;
    fill(progress, progressOf(STEPS.map((each, number) => [each, number < at ? "done" : number === at ? "now" : "later"]), "Progress"));
    fill(gate, state.account && state.passed === false && !state.anyway && [
      h("div", { class: "notice", id: "risks" }, risksOf(transaction, state.check).map((risk) => h("p", {}, risk))),
      h("button", { type: "button", class: "danger", "aria-describedby": "risks", onclick: () => { state.anyway = true; next(); headings[2].focus(); } }, insistence(state.check)),
    ]);
    for (const [number, each] of sections.entries()) each.classList.toggle("later", number > at);
    if (open) signature.open(state.account);
    else signature.clear(state.passed === false ? "The simulation did not pass." : undefined);
  }

  function signed({ tx, hash, first, until }) {
    const signing = { ...transaction, ...transaction.toSign };
    const record = { source: name, chain: signing.chain, tx: signing.tx, signed: tx, hash, address: state.account.here, says: signing.decoded.says, first, until, ...(transaction.draft && { draft: transaction.draft }) };
    keep(name, record);
    fill(all, waiting(record, signing, async () => { location.reload(); }, signal));
    all.querySelector("#step-send").focus();
  }

  async function refresh() {
    try {
      const again = await load(source, null, signal, transaction.acting && !source.job ? state.account?.here : "");
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
  const button = () => h("button", { type: "button", class: "quiet", onclick: ({ target }) => { target.disabled = true; refresh(); } }, "Refresh");

  const headings = STEPS.map((each, number) => h("h2", { id: `step-${each.toLowerCase()}`, tabindex: "-1" }, `${number + 1}. ${each}`));
  const bodies = [account, [simulation.body, gate], signature.body, h("p", { class: "hint" }, "Comes after the signature.")];
  fill(shownWhat, what(transaction, button()));
  const sections = headings.map((heading, number) => h("section", { class: "card step", "aria-labelledby": heading.id }, heading, bodies[number]));
  fill(all, progress, shownWhat, sections);
  next();
  onGone((gone) => {
    // What an outage kept from being simulated is simulated when the daemon is back.
    if (!gone && state.account && state.passed === false && !state.anyway) simulation.simulate(state.account);
  }, signal);
  return all;
}
