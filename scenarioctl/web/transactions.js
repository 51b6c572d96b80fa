// The transactions of a scenario, each with what it does and the button to sign it.

import { onGone, post } from "./api.js";
import { batchable } from "./batches.js";
import { argumentsOf, hexOf } from "./call_tree.js";
import { copyButton, fill, h, problemOf } from "./dom.js";
import { amount } from "./format.js";
import { sentFor, sentNotices } from "./sent.js";

export function transactionPart(scenario, signal) {
  const place = h("div", { "aria-live": "polite" }, h("p", {}, "Drafting…"));
  const heading = h("h2", { id: "transaction" }, "Unsigned transaction");
  const { sent } = scenario;
  let outage = false;

  async function draft() {
    outage = false;
    try {
      const full = await post("/api/scenario/info/full", { id: scenario.id }, signal);
      const { result } = full;
      const several = result.transactions ?? [];
      heading.textContent = several.length ? `${several.length} unsigned transactions` : "Unsigned transaction";
      const rows = several.length ? several : [{ ...result, warnings: full.warnings }];
      const count = await batchable(scenario.id, rows, signal);
      const others = several.length ? sent.filter((each) => each.node && !rows.some(({ node }) => node === each.node)) : [];
      fill(place,
        sentNotices(others, scenario.id, false, signal),
        several.length > 1 && h("p", { class: "hint" }, count ? "Sign each one by itself, in this order, or all of them as one." : "Each one is signed and sent by itself, in this order."),
        count > 0 && together(scenario, count),
        h("ol", { class: "transactions" }, rows.map((row, number) => h("li", {}, transaction(scenario, row, number === 0, signal)))),
        h("div", { class: "actions" }, h("button", { type: "button", onclick: draft }, "Refresh")));
    } catch (error) {
      if (signal.aborted) return;
      fill(place, sentNotices(sent, scenario.id, false, signal), problemOf(error), h("p", {}, h("button", { type: "button", onclick: draft }, "Try again")));
      outage = error.code === "gone";
    }
  }

  draft();
  onGone((gone) => { if (!gone && outage) draft(); }, signal);
  return h("section", { "aria-labelledby": "transaction" }, heading, place);
}

function together({ id }, count) {
  return h("div", { class: "actions" },
    h("a", { class: "button", href: `#/sign/?${new URLSearchParams({ scenario: id, batch: "all" })}` }, "Sign as one transaction"),
    h("span", { class: "hint" }, `One signature for all ${count}: the chain does all of them, or none.`));
}

function transaction(scenario, row, first, signal) {
  const { node = "" } = row;
  const step = scenario.nodes.find(({ id }) => id === node);
  if (row.error) {
    return h("article", { class: "card" },
      h("p", { class: "says" }, step?.text || node),
      h("p", { class: "problem" }, row.error));
  }
  const link = new URLSearchParams({ scenario: scenario.id, ...(node && { node }) });
  const says = h("p", { class: "says" }, step?.text || row.summary);
  const more = h("div");
  const decode = async () => {
    try {
      const decoded = await post("/api/tx/decode", { chain: row.source_chain, tx: row.tx }, signal);
      fill(says, decoded.says);
      fill(more, facts(row, decoded), hexOf(row.tx),
        h("div", { class: "actions" }, copyButton("Copy hex", row.tx), copyButton("Copy call data", decoded.call_data)),
        argumentsOf(decoded));
    } catch (error) {
      if (!signal.aborted) fill(more, problemOf(error));
    }
  };
  const sign = h("a", { class: "button primary", href: `#/sign/?${link}` }, "Sign and send");
  const warnings = (row.warnings ?? []).map((warning) => h("p", { class: "notice" }, warning));
  // Each is decoded by a request of its own: the others when somebody looks.
  if (first) decode();
  const details = first ? more : h("details", { ontoggle: ({ target }) => { if (target.open && !more.childElementCount) decode(); } }, h("summary", {}, "Details"), more);
  return h("article", { class: "card" }, says, sentNotices(sentFor(scenario.sent, node), scenario.id, Boolean(node), signal), warnings, h("div", { class: "actions" }, sign), details);
}

function facts(row, decoded) {
  const rows = [
    ["Chain", row.source_chain],
    ["Destination", row.dest_chain],
    ["Type", row.txtype],
    row.asset && ["Asset", row.asset],
    row.amount !== "0" && ["Amount", amount(row.amount)],
    ["Runtime", `${decoded.spec_version}${decoded.offline ? ", built offline, not checked against a node" : ""}`],
  ].filter(Boolean);
  return h("dl", { class: "facts" }, rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value instanceof Node ? value : String(value)))));
}
