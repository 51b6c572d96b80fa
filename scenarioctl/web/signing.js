// From a draft to a sent transaction: Account → Simulate → Sign → Send.  What stands where is one object, which `after` alone changes.

import { onGone, post } from "./api.js";
import { accountStep } from "./accounts.js";
import { argumentsOf, paymentsOf } from "./call_tree.js";
import { confirmed } from "./dialog.js";
import { copyButton, fill, h, problemOf } from "./dom.js";
import { briefOf, insistence, risksOf } from "./figures.js";
import { account as shown, grouped, sentence } from "./format.js";
import { approvalsOf } from "./known.js";
import { progressOf } from "./progress.js";
import { sendStep } from "./sending.js";
import { barredFrom, load, readSource, showOf } from "./sign_sources.js";
import { signatureStep } from "./signature.js";
import { drop, keep, kept } from "./signed.js";
import { simulationStep } from "./simulation.js";
import { isUnknown } from "./words.js";

const STEPS = ["Account", "Simulate", "Sign", "Send"];
// Milliseconds after which what failed because something didn't answer is tried again.
const AGAIN = 5000;

const START = { at: 0, account: null, passed: null, check: null, anyway: false };

// The state after an event: somebody chose an `account`, the transaction is `simulating` or was `simulated`, or somebody `insists`.
function after(state, event, value) {
  if (event === "account") return { ...START, account: value, at: value ? 1 : 0 };
  if (event === "simulating") return { ...START, account: state.account, at: state.account ? 1 : 0 };
  if (event === "simulated") return { ...state, ...value, anyway: false, at: value.passed ? 2 : 1 };
  return { ...state, anyway: true, at: 2 };
}

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
      if (!record && (error.code === "gone" || !isUnknown(error))) throw error;
      // After an upgrade of the runtime what was signed may no longer be read, but it can still be discarded.
      fill(page, head, problemOf(error, start), record && waiting(record, null, start, signal));
      if (!record) again(start, signal);
    }
  }

  await start();
  return page;
}

// Tries once more after a while, in the same view.
function again(attempt, signal) {
  const timer = setTimeout(() => { if (!signal.aborted) attempt(); }, AGAIN);
  signal.addEventListener("abort", () => clearTimeout(timer));
}

// What is about to be signed or sent, in short: it stays in sight through all steps.  `brief` is null before it was simulated.
function deal(says, brief, refresh = null) {
  const moved = brief?.sends ?? brief?.receives;
  const row = (name, value) => value && h("div", {}, h("dt", {}, name), h("dd", {}, value));
  return h("aside", { class: "deal card", "aria-label": "In short" },
    moved ? [h("p", { class: "hint" }, brief.sends ? "You send" : "They receive"), h("p", { class: "moved" }, grouped(moved))] : brief || !refresh ? h("p", { class: "says" }, sentence(says)) : h("p", { class: "hint" }, "What it moves, brings and costs stands here once it is simulated."),
    brief && h("dl", {},
      row("They receive", brief?.sends && brief.receives),
      brief?.receivers?.length === 1 && row("Receiver", shown(brief.receivers[0])),
      brief?.receivers?.length > 1 && row("Receivers", String(brief.receivers.length)),
      row("Fees", brief?.fees)),
    brief && h("p", { class: `verdict ${brief.tone}` }, brief.verdict), refresh);
}

function what(transaction) {
  const { decoded, chainTitle } = transaction;
  return h("section", { class: "card", "aria-labelledby": "what" },
    h("h2", { id: "what" }, `On ${chainTitle}`),
    h("p", { class: "says" }, sentence(decoded.says)),
    paymentsOf(decoded),
    transaction.notes.map((note) => h("p", { class: "acting" }, sentence(note))),
    transaction.warnings.map((warning) => h("p", { class: "notice" }, warning)),
    transaction.before(),
    transaction.tx && argumentsOf(decoded, transaction.tx, copyButton("Copy hex", transaction.tx)));
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
    drop(record.source);
    try {
      await start();
    } catch (error) {
      fill(place, problemOf(error));
    }
  } }, "Discard the signature");
  // Nothing is lost with a signature that is not valid any more.
  const anew = async () => {
    drop(record.source);
    await start();
  };
  return [
    progressOf(STEPS.map((each, number) => [each, number < 3 ? "done" : "now"]), "Progress"),
    h("div", { class: "flow" },
      deal(record.says, record.brief ?? null),
      h("div", {},
        transaction && what(transaction),
        h("section", { class: "card step", "aria-labelledby": "step-send" },
          h("h2", { id: "step-send", tabindex: "-1" }, "4. Send"),
          record.half ? assembling(record, start, discard, signal) : sendStep(record, transaction?.chainTitle ?? record.chain, signal, discard, anew), place))),
  ];
}

// What was signed while the node was gone: put together and compared as soon as it answers.
function assembling(record, start, discard, signal) {
  const said = h("div", { "aria-live": "polite" });
  async function attempt() {
    fill(said, h("p", {}, "Comparing your signature with what was shown…"));
    try {
      const { tx, hash } = await post("/api/tx/assemble", { payload: record.half.payload, ...record.half.signed }, signal);
      keep(record.source, { ...record, half: undefined, signed: tx, hash });
      await start();
    } catch (error) {
      if (signal.aborted) return;
      fill(said, isUnknown(error) && h("p", { class: "notice" }, "Your signature is kept. The page tries again by itself once the chain can be read."), problemOf(error));
      if (isUnknown(error)) again(attempt, signal);
    }
  }
  attempt();
  return [said, h("div", { class: "actions" }, discard)];
}

function steps(transaction, source, name, signal) {
  let state = START;
  const progress = h("div");
  const short = h("div", { class: "short" });
  const shownWhat = h("div");
  const said = h("div");
  const gate = h("div");
  const all = h("div");

  function happen(event, value) {
    state = after(state, event, value);
    draw();
  }

  const simulation = simulationStep(transaction, (passed, check) => {
    happen(passed === null ? "simulating" : "simulated", { passed, check });
  }, () => {
    signature.clear();
    if (state.account) simulation.simulate(state.account);
  }, signal);
  const signature = signatureStep(transaction, { begin: keepHalf, done: signed, refused: () => { if (kept(name)?.half) drop(name); } }, signal);
  const account = accountStep(transaction.chainRow, (chosen, person) => {
    signature.clear();
    happen("account", chosen);
    if (chosen) begin(chosen);
    else simulation.clear();
    // Whoever pressed a button that is gone goes on with the next step.
    if (chosen && person) headings[1].focus();
  }, signal, barredFrom(transaction));

  // What somebody signs for another account depends on who they are, and on who signed before.
  async function begin(chosen) {
    if (!transaction.acting || source.job) {
      simulation.simulate(chosen);
      return;
    }
    simulation.clear();
    happen("simulating");
    try {
      const built = await load(source, null, signal, chosen.here);
      if (state.account !== chosen) return;
      Object.assign(transaction, built);
      fill(shownWhat, what(transaction));
      simulation.simulate(chosen);
    } catch (error) {
      if (!signal.aborted && state.account === chosen) fill(shownWhat, what(transaction), problemOf(error, () => begin(chosen)));
    }
  }

  // What it would be sent with: the verdict, and what somebody insisted on.
  function brief() {
    if (state.passed === null) return null;
    const { check, passed } = state;
    return { ...(check ? briefOf(check) : {}), ...simulation.verdict(check, passed), ...(!passed && { warning: insistence(check, transaction).replace("Sign", "Send") }) };
  }

  function draw() {
    const { at, passed, anyway, check } = state;
    fill(progress, progressOf(STEPS.map((each, number) => [each, number < at ? "done" : number === at ? "now" : "later"]), "Progress"));
    fill(short, deal((transaction.toSign ?? transaction).decoded.says, brief(), h("div", { class: "actions" }, h("button", { type: "button", class: "quiet", onclick: refresh }, "Refresh"), said)));
    fill(gate, state.account && passed === false && !anyway && [
      h("div", { class: "notice", id: "risks" }, risksOf(transaction, check).map((risk) => h("p", {}, risk))),
      h("button", { type: "button", class: "danger", "aria-describedby": "risks", onclick: () => { happen("insists"); headings[2].focus(); } }, insistence(check, transaction)),
    ]);
    for (const [number, each] of sections.entries()) {
      each.classList.toggle("later", number > at);
      each.classList.toggle("over", number < at);
    }
    simulation.fold(at > 1);
    if (at === 2) signature.open(state.account);
    else signature.clear(passed === false ? "The simulation did not pass." : undefined);
  }

  function recorded(first, until) {
    const signing = { ...transaction, ...transaction.toSign };
    return { source: name, chain: signing.chain, tx: signing.tx, signed: "", hash: "", address: state.account.here, says: signing.decoded.says, first, until, brief: brief(), ...(transaction.draft && { draft: transaction.draft }) };
  }

  // A signature is kept before it is compared, so that none is lost with the node.
  function keepHalf(half, { first, until }) {
    keep(name, { ...recorded(first, until), half });
  }

  function signed({ tx, hash, first, until }) {
    const record = { ...recorded(first, until), signed: tx, hash };
    keep(name, record);
    fill(all, waiting(record, { ...transaction, ...transaction.toSign }, async () => { location.reload(); }, signal));
    all.querySelector("#step-send").focus();
  }

  // Everything anew: the transaction, its simulation, the payload.
  async function refresh({ target }) {
    target.disabled = true;
    try {
      const { tx } = transaction;
      const found = await load(source, null, signal, transaction.acting && !source.job ? state.account?.here : "");
      // A verdict, a payload and a signature belong to one transaction.
      Object.assign(transaction, found);
      fill(shownWhat, what(transaction));
      signature.clear();
      if (state.account) simulation.simulate(state.account);
      fill(said, h("p", { class: found.tx === tx ? "hint" : "notice", role: "status" }, found.tx === tx ? "Nothing has changed." : "The transaction has changed. It is simulated again."));
    } catch (error) {
      if (!signal.aborted) fill(said, problemOf(error));
    } finally {
      target.disabled = false;
    }
  }

  const headings = STEPS.map((each, number) => h("h2", { id: `step-${each.toLowerCase()}`, tabindex: "-1" }, `${number + 1}. ${each}`));
  const bodies = [account, [simulation.body, gate], signature.body, h("p", { class: "hint" }, "Comes after the signature.")];
  fill(shownWhat, what(transaction));
  const sections = headings.map((heading, number) => h("section", { class: "card step", "aria-labelledby": heading.id }, heading, bodies[number]));
  fill(all, progress, h("div", { class: "flow" }, short, h("div", {}, shownWhat, sections)));
  draw();
  onGone((gone) => {
    // What an outage kept from being simulated is simulated when the daemon is back.
    if (!gone && state.account && state.passed === false && !state.anyway) simulation.simulate(state.account);
  }, signal);
  return all;
}
