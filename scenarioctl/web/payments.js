// The lines of a payout: what became of each, and how much of each asset that is.

import { post } from "./api.js";
import { copyButton, fill, h, inPortions, problemOf } from "./dom.js";
import { account as shown, amount } from "./format.js";
import { chainName, chains } from "./known.js";
import { sentLink } from "./sent.js";
import { sumsOf } from "./figures.js";

// Drawn at first; the others when somebody asks for them, some in each frame.
const SHOWN = 50;

const TONES = { finalized: "done", "in-block": "now", sent: "now", pending: "now", uncertain: "unknown", unknown: "unknown", failed: "failed", replaced: "unknown" };

// Nothing for a scenario that is no payout.
export function paymentPart({ id, nodes }, signal) {
  if (!nodes.some(({ type }) => type === "payout")) return null;
  const place = h("div", { "aria-live": "polite" }, h("p", { class: "hint waits" }, "Reading the payments…"));

  async function read() {
    try {
      const [{ payments }] = await Promise.all([post("/api/scenario/payments", { id }, signal), chains()]);
      const body = h("tbody");
      const add = (some) => body.append(...some.map((row) => line(row, id)));
      add(payments.slice(0, SHOWN));
      const rest = payments.slice(SHOWN);
      const more = rest.length > 0 && h("button", { type: "button", onclick: () => { more.remove(); inPortions(rest, SHOWN, add, signal); } }, `Show ${rest.length} more`);
      fill(place,
        h("ul", { "aria-label": "Totals" }, [...new Set(payments.map(({ status }) => status))].map((status) => {
          const rows = payments.filter((each) => each.status === status);
          return h("li", {}, h("b", {}, status), `: ${rows.length === 1 ? "1 payment" : `${rows.length} payments`}, ${sumsOf(rows.map(({ amount: paid, chain }) => ({ ...paid, chain }))).join(" and ")}`);
        })),
        h("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Lines of the payout" }, h("table", { class: "list" },
          h("thead", {}, h("tr", {}, ["Line", "Account", "Amount", "State"].map((title) => h("th", { scope: "col" }, title)))), body)),
        h("div", { class: "actions" }, more,
          copyButton("Copy as CSV", async () => (await post("/api/scenario/payments", { id, csv: true }, signal)).csv),
          h("button", { type: "button", class: "quiet", onclick: read }, "Refresh")));
    } catch (error) {
      if (!signal.aborted) fill(place, problemOf(error, read));
    }
  }

  read();
  return h("section", { class: "card", "aria-labelledby": "payments" }, h("h2", { id: "payments" }, "Payments"), place);
}

function line({ line: number, account, amount: paid, memo, chain, hash, status, block_number: block }, scenario) {
  return h("tr", {},
    h("td", { "data-label": "Line" }, number),
    h("td", { "data-label": "Account" }, shown(account)),
    h("td", { "data-label": "Amount" }, amount(paid.human ?? `${paid.value} raw`, paid.value), h("p", { class: "hint" }, chainName(chain), memo && `, ${memo}`)),
    h("td", { "data-label": "State" }, h("span", { class: `badge ${TONES[status] ?? ""}` }, hash ? h("a", { href: sentLink(chain, hash, { scenario }) }, status) : status), block !== null && h("p", { class: "hint" }, `block ${block}`)));
}
