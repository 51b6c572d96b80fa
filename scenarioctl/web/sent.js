// The transactions of a scenario that were sent, as the daemon's store knows them.

import { get } from "./api.js";
import { fill, h } from "./dom.js";
import { when } from "./format.js";

export const sentLink = (chain, hash, more = {}) => `#/tx/?${new URLSearchParams({ chain, hash, ...more })}`;

// Returns those of `sent` that paid for the step `node`, or for all steps; for an empty id all.
export const sentFor = (sent, node) => sent.filter((each) => !node || !each.node || each.node === node);

// Returns those that paid for the step of `draft`, an entry of a job's drafts, after it was made.
export const sentSince = (sent, { node, Date: made }) => sentFor(sent, node).filter(({ date }) => Date.parse(date) > Date.parse(made));

// Whether a second signature would pay a second time, as far as is known.
export const isPaid = ({ state, success }) => state !== "expired" && success !== false;

// The node of the only payout of several that is left to sign: those that were sent aren't drafted again.  "" if there is no such.
export function lastPayout({ nodes, sent }) {
  const payouts = nodes.filter(({ type }) => type === "payout");
  const left = payouts.filter(({ id }) => !sentFor(sent, id).some(isPaid));
  return payouts.length > 1 && left.length === 1 ? left[0].id : "";
}

// "Sent 3 hours ago: in block 20, finalized.", with a link.
function told({ chain, hash, date, state, changed_since: changed }, outcome, scenario, several) {
  return [
    state === "uncertain" ? "Perhaps sent " : "Sent ", when(date),
    several && " in one transaction with the others", changed && ", before the last change of the scenario", ": ", outcome, ". ",
    h("a", { href: sentLink(chain, hash, { scenario }), "data-key": `sent ${hash}` }, "See what became of it"), ".",
  ];
}

// A notice for each transaction of `sent`; the chain is asked once about those that can still change. `several` says that the scenario
// has other transactions, too.
export function sentNotices(sent, scenario, several, signal) {
  return sent.map((each) => {
    const outcome = h("span", {}, each.outcome);
    const advice = h("span");
    const advise = (status) => fill(advice, isPaid(status) && " If you sign it again, you pay again.");
    advise(each);
    if (["uncertain", "sent", "in-block"].includes(each.state)) {
      get("/api/tx/status", { chain: each.chain, hash: each.hash }, signal).then((status) => {
        // "It is in block 20 of polkadot, finalized."
        fill(outcome, status.summary.replace(/^It is in/, "in").replace(/\.$/, ""));
        advise(status);
      }).catch(() => {});
    }
    return h("p", { class: ["uncertain", "unknown"].includes(each.state) ? "notice" : "notice calm" }, told(each, outcome, scenario, several && !each.node), advice);
  });
}

// The line of a list.
export const sentLine = (sent, scenario) => h("p", { class: "hint" }, told(sent, sent.outcome, scenario, false));
