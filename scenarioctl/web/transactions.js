// The transactions of a scenario: what each does, its details, and of several the button to sign each.

import { rememberedAddress } from "./accounts.js";
import { get, onGone, post } from "./api.js";
import { batchable } from "./batches.js";
import { argumentsOf, hexOf, paymentsOf } from "./call_tree.js";
import { copyButton, fill, h, inPortions, problemOf } from "./dom.js";
import { briefOf } from "./figures.js";
import { exactly, grouped, sentence } from "./format.js";
import { chainMark } from "./icons.js";
import { chainName } from "./known.js";
import { isPaid, lastPayout, sentFor, sentNotices } from "./sent.js";
import { stepTitle } from "./words.js";

// Drawn at first; the others when somebody asks for them, some in each frame.
const SHOWN = 20;
// Nothing is wrong if a run fills in the rest.
const FILLED_IN = "A run drafts it once the data has come.";

// `drafted({rows, count})` hears of the transactions, and how many of them can be signed as one; of null while there are none.
export function transactionPart(scenario, drafted, signal) {
  const place = h("div", { "aria-live": "polite" }, h("p", { class: "hint waits" }, "Drafting…"));
  const heading = h("h2", { id: "transaction" }, "Unsigned transaction");
  const { sent } = scenario;
  let outage = false;

  async function draft() {
    outage = false;
    drafted(null);
    try {
      const full = await post("/api/scenario/info/full", { id: scenario.id }, signal);
      const { result } = full;
      const several = result.transactions ?? [];
      heading.textContent = several.length ? `${several.length} unsigned transactions` : "Unsigned transaction";
      heading.hidden = !several.length;
      const rows = several.length ? several : [{ ...result, node: lastPayout(scenario), warnings: full.warnings }];
      const count = await batchable(scenario.id, rows, signal);
      drafted({ rows, count });
      const others = rows[0].node ? sent.filter((each) => each.node && !rows.some(({ node }) => node === each.node)) : [];
      const list = h("ol", { class: "rows transactions" });
      const add = (some) => list.append(...some.map((row) => h("li", {}, transaction(scenario, row, several.length > 0, signal))));
      add(rows.slice(0, SHOWN));
      const rest = rows.slice(SHOWN);
      const more = rest.length > 0 && h("button", { type: "button", onclick: () => { more.remove(); inPortions(rest, SHOWN, add, signal); } }, `Show ${rest.length} more`);
      fill(place,
        sentNotices(others, scenario.id, false, signal),
        several.length > 1 && h("p", { class: "hint" }, count ? "Sign each one by itself, in this order, or all of them as one." : "Each one is signed and sent by itself, in this order."),
        list,
        h("div", { class: "actions" }, more, h("button", { type: "button", class: "quiet", onclick: draft }, "Refresh")));
    } catch (error) {
      if (signal.aborted) return;
      drafted({ rows: [], count: 0 });
      const isWaiting = error.code !== "gone" && scenario.problems.length > 0 && scenario.problems.every(({ waiting }) => waiting);
      // What is paid isn't drafted again.
      const isDone = error.code === "conflict" && sent.some(isPaid);
      fill(place, sentNotices(sent, scenario.id, false, signal), isWaiting ? h("p", { class: "hint" }, FILLED_IN) : !isDone && problemOf(error, draft));
      outage = error.code === "gone";
    }
  }

  draft();
  onGone((gone) => { if (!gone && outage) draft(); }, signal);
  return h("section", { "aria-labelledby": "transaction", hidden: !scenario.nodes.length }, heading, place);
}

function transaction(scenario, row, several, signal) {
  const { node = "" } = row;
  const step = scenario.nodes.find(({ id }) => id === node);
  if (row.error) {
    const found = scenario.problems.filter((each) => each.node === node);
    return h("article", {},
      h("p", { class: "step-text" }, sentence(step?.text ?? "")),
      found.length && found.every(({ waiting }) => waiting) ? h("p", { class: "hint" }, FILLED_IN) : problemOf({ message: row.error, code: row.code }));
  }
  const more = h("div");
  const decode = async () => {
    try {
      const decoded = await post("/api/tx/decode", { chain: row.source_chain, tx: row.tx }, signal);
      fill(more, facts(row, decoded), hexOf(row.tx),
        h("div", { class: "actions" }, copyButton("Copy hex", row.tx), copyButton("Copy call data", decoded.call_data)),
        argumentsOf(decoded));
    } catch (error) {
      if (!signal.aborted) fill(more, problemOf(error));
    }
  };
  const link = new URLSearchParams({ scenario: scenario.id, ...(node && { node }) });
  return h("article", {},
    // The button of a single transaction is the one above it.
    several ? h("div", { class: "split" }, h("p", { class: "says" }, sentence(row.says)), h("a", { class: "button", href: `#/sign/?${link}` }, "Sign and send")) : hero(scenario, row, signal),
    paymentsOf(row),
    sentNotices(sentFor(scenario.sent, node), scenario.id, Boolean(node), signal),
    (row.warnings ?? []).map((warning) => h("p", { class: "notice" }, warning)),
    h("details", { ontoggle: ({ target }) => { if (target.open && !more.querySelector("dl")) decode(); } }, h("summary", {}, "Details"), more));
}

// A single transaction in large: how much goes from where to where, and, where an account and the chains tell, what it costs and brings.
function hero(scenario, row, signal) {
  const [what] = scenario.title.split(" · ");
  const moves = row.amount !== "0" && row.dest_chain && what.startsWith(grouped(row.amount).split(".")[0]);
  const told = h("dl", { class: "told" });
  figure(row, scenario, told, signal);
  return h("div", { class: "hero" },
    moves && h("div", {},
      h("p", { class: "moved" }, grouped(what)),
      h("p", { class: "route" }, chainMark(row.source_chain), row.dest_chain !== row.source_chain && [h("span", { class: "arrow", "aria-label": "to" }, "→"), chainMark(row.dest_chain)])),
    told,
    h("p", { class: "says" }, sentence(row.says)));
}

// Simulates it for the account that signed last in this browser; without one, or if nobody answers, nothing is told.
async function figure({ source_chain: chain, tx }, { acting }, place, signal) {
  const sender = !acting && rememberedAddress();
  if (!sender || (await get("/api/status", {}, signal)).offline) return;
  try {
    const { sends, receives, fees } = briefOf(await post("/api/tx/check", { chain, tx, sender }, signal));
    fill(place, [["You send", sends], ["They receive", receives], ["Fees", fees]].map(([name, value]) => value && h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  } catch {
    // The steps to sign it say what is wrong.
  }
}

function facts(row, decoded) {
  const rows = [
    ["Chain", chainName(row.source_chain)],
    ["Destination", chainName(row.dest_chain)],
    ["Type", stepTitle(row.txtype)],
    row.asset && ["Asset", row.asset],
    row.amount !== "0" && ["Amount", exactly(row.amount)],
    ["Runtime", `${decoded.spec_version}${decoded.offline ? ", built offline, not checked against a node" : ""}`],
  ].filter(Boolean);
  return h("dl", { class: "facts" }, rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value instanceof Node ? value : String(value)))));
}
