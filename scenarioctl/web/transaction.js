// A sent transaction: what it moves from whom to whom, how far it has come, what it cost.

import { follow, get, post } from "./api.js";
import { tree } from "./call_tree.js";
import { copyButton, fill, h, problemOf } from "./dom.js";
import { account, amount, grouped, sentence, when } from "./format.js";
import { chainName, chains } from "./known.js";
import { progressOf } from "./progress.js";
import { madeOf } from "./sending.js";
import { forget, keptByHash } from "./signed.js";
import { plain } from "./words.js";

// A sent transaction, followed live: `#/tx/?chain=…&hash=…`.
export async function sentView(query, signal) {
  const [chain, hash] = ["chain", "hash"].map((name) => query.get(name) ?? "");
  if (!chain || !/^0x[0-9a-f]{64}$/.test(hash)) throw new Error("This link names no transaction: it needs a chain and a hash of 0x and 64 hex digits.");
  const scenario = query.get("scenario");
  const place = h("div");
  const trouble = h("div");
  const row = (await chains()).find(({ name }) => name === chain) ?? { title: chain };
  let following = new AbortController();
  const look = async () => {
    const next = new AbortController();
    const until = AbortSignal.any([signal, next.signal]);
    const draw = (status) => {
      const open = place.querySelector("details")?.open;
      fill(place, told(status, row, look, signal));
      // What somebody has opened stays open.
      if (open) place.querySelector("details")?.setAttribute("open", "");
    };
    const status = await get("/api/tx/status", { chain, hash }, until);
    // Until this answer, the former stream goes on.
    following.abort();
    following = next;
    draw(status);
    if (!status.settled) watch(draw, trouble, { chain, hash }, until);
  };
  await look();
  return h("section", {}, h("div", { class: "title" },
    h("h1", { tabindex: "-1" }, "Sent transaction"),
    scenario && h("p", { class: "hint" }, h("a", { href: `#/create/?diagramData=${encodeURIComponent(scenario)}` }, "Back to the scenario"))), place, trouble);
}

// Follows a transaction until nothing about it can change any more.
function watch(draw, trouble, fields, signal) {
  const over = new AbortController();
  const stop = () => over.abort();
  signal.addEventListener("abort", stop);
  follow("/api/tx/events", fields, (kind, status) => {
    if (kind !== "status") return;
    draw(status);
    if (status.settled) stop();
  }, over.signal).catch((error) => { if (!over.signal.aborted) fill(trouble, problemOf(error)); });
}

const ORDER = ["sent", "in-block", "finalized"];

function stepsOf(status) {
  const at = ORDER.indexOf(status.state);
  const failed = status.success === false;
  const steps = [["Signed", "done"]];
  for (const [number, name] of ["Sent", "In block", "Finalized"].entries()) {
    steps.push([name, number > at ? "later" : failed && number === 1 ? "failed" : "done"]);
  }
  if (status.arrivals.length > 0) steps.push(["Arrived", arrived(status.arrivals)]);
  if (status.state === "expired") [steps[1][1], steps[2][1]] = ["unknown", "unknown"];
  else if (at < 0) steps[1][1] = "unknown";
  else if (!failed) {
    const next = steps.find(([, state]) => state === "later");
    if (next) next[1] = "now";
  }
  return steps;
}

function arrived(arrivals) {
  const states = arrivals.map(({ state }) => state);
  if (states.includes("failed")) return "failed";
  if (states.every((state) => state === "arrived")) return "done";
  return states.includes("waiting") ? "later" : "unknown";
}

function told(status, chain, look, signal) {
  const record = keptByHash(status.hash);
  if (record && ORDER.includes(status.state)) forget(status.hash);
  const block = typeof status.block_number === "number" ? grouped(status.block_number) : "";
  return [
    hero(status),
    progressOf(stepsOf(status), "Progress"),
    h("p", { role: "status" }, status.summary),
    status.notes.length > 0 && h("ul", { class: "notice" }, status.notes.map((note) => h("li", {}, note))),
    status.state === "expired" && h("p", {}, "Nothing was paid. To send it all the same, sign it again."),
    status.success === false && h("p", { class: "problem", role: "alert" }, "It failed in its block, and its fee is spent: ", status.error || "the chain gave no reason"),
    record && ["unknown", "uncertain"].includes(status.state) && again(record, status, look, signal),
    hops(status),
    costs(status),
    explorer(status),
    facts(status, chain, block),
    status.events?.length > 0 && h("details", {}, h("summary", {}, status.events.length === 1 ? "1 event" : `${status.events.length} events`), h("ul", {}, status.events.map((event) => h("li", {}, tree(event))))),
    status.job && h("p", {}, h("a", { href: `#/create/?diagramData=${encodeURIComponent(status.job)}` }, "Go to the job")),
    h("p", {}, h("a", { href: "#/history" }, "All sent transactions")),
  ];
}

// The same bytes once more: the daemon allows it only if the chain doesn't have them.
function again(record, status, look, signal) {
  const said = h("div");
  const button = h("button", { type: "button", onclick: async () => {
    button.disabled = true;
    fill(said);
    try {
      await post("/api/chain/Broadcast", { chain: record.chain, tx: record.signed, ...madeOf(record), ...(status.state === "uncertain" && { again: true }) });
      forget(record.hash);
      await look();
    } catch (error) {
      if (!signal.aborted) fill(said, problemOf(error));
    } finally {
      button.disabled = false;
    }
  } }, "Send it again");
  return h("div", {}, h("p", { class: "hint" }, "This browser still has the signed bytes. A chain executes them once, however often they are sent."), h("div", { class: "actions" }, button), said);
}

const shown = ({ human, value, asset }) => amount(human ?? `${value} of the smallest unit of ${asset}`, human ? value : "");

// What moved, in large, and between whom; before its block, what it does.
function hero(status) {
  const swapped = (status.received ?? []).filter((each) => each.account === status.signer);
  const others = [...(status.received ?? []).filter((each) => each.account !== status.signer), ...status.arrivals.flatMap(({ received = [] }) => received)];
  const receivers = [...new Map(others.map((each) => [`${each.account} ${each.chain}`, each])).values()];
  const onward = status.arrivals.filter(({ received = [] }) => !received.length).map(({ chain }) => chain);
  const moved = [...(status.moved ?? []), ...(status.spent ?? [])];
  return [
    moved.length > 0 && h("p", { class: "moved" }, moved.map((each, at) => [at > 0 && " + ", shown(each)])),
    swapped.length > 0 && h("p", { class: "got" }, "Received: ", swapped.map((each, at) => [at > 0 && ", ", shown(each)])),
    status.says && h("p", { class: "says" }, sentence(status.says)),
    status.signer && h("div", { class: "ends" },
      h("div", {}, h("span", { class: "hint" }, `From ${chainName(status.chain)}`), account(status.signer)),
      receivers.map((each) => h("div", {}, h("span", { class: "hint" }, `To ${chainName(each.chain)}`), account(each.account))),
      [...new Set(onward)].map((chain) => h("div", {}, h("span", { class: "hint" }, `To ${chainName(chain)}`)))),
  ];
}

// The way from chain to chain, with what left and what arrived.
function hops(status) {
  if (!status.arrivals.length) return null;
  const left = status.left ? status.left.map((each, at) => [at > 0 && " + ", shown(each)]) : "unknown";
  return h("ol", { class: "arrivals", "aria-label": "The way" },
    h("li", {}, h("strong", {}, chainName(status.chain)), ": left the signer: ", left),
    status.arrivals.map(arrival));
}

function arrival({ chain, state, block_number: block, reason, received = [] }) {
  const at = typeof block === "number" ? ` in block ${grouped(block)}` : "";
  const words = { waiting: "waiting for the message to arrive", arrived: `arrived${at}`, failed: `failed${at}`, unknown: "unknown" };
  return h("li", { class: state }, h("strong", {}, chainName(chain)), `: ${words[state] ?? "unknown"}`,
    received.length > 0 && [": ", received.map((each, at) => [at > 0 && ", ", shown(each)])], reason ? [". ", plain(reason)] : "");
}

const COSTS = { "transaction fee": "Transaction fee", delivery: "Delivery", execution: "Execution on the way" };

function costs({ costs: parts = [], cost = [], arrivals, settled }) {
  if (!parts.length) return null;
  // What the way kept is a part only if all of it is known.
  const open = arrivals.length > 0 && !parts.some(({ what }) => what === "execution");
  return h("section", { "aria-labelledby": "costs" },
    h("h2", { id: "costs" }, "Costs"),
    h("dl", { class: "costs" }, parts.map((each) => h("div", {}, h("dt", {}, COSTS[each.what] ?? each.what), h("dd", {}, shown(each)))),
      parts.length > 1 && h("div", { class: "total" }, h("dt", {}, open ? "Total so far" : "Total"), h("dd", {}, cost.map((each, at) => [at > 0 && " + ", shown(each)])))),
    open && h("p", { class: "hint" }, settled ? "What the way kept isn't known." : "What the way keeps is known once everything arrived."));
}

function facts(status, chain, block) {
  const rows = [
    ["Chain", chain.title],
    status.sent && ["Sent", when(status.sent)],
    block && ["Block", h("span", { title: status.block || null }, block, typeof status.extrinsic_index === "number" ? `, transaction ${status.extrinsic_index}` : "")],
    status.block_time && ["Time of the block", when(status.block_time)],
    typeof status.valid_until_block === "number" && ["Valid until block", grouped(status.valid_until_block)],
    ...status.created.map(({ address, proxy, type }) => ["New account", [h("code", {}, address), " ", copyButton("Copy address", address), h("p", { class: "hint" }, `${proxy} is its proxy, of the type ${type}.`)]]),
    ["Hash", [h("code", {}, status.hash), " ", copyButton("Copy hash", status.hash)]],
  ].filter(Boolean);
  return h("dl", { class: "facts" }, rows.map(([name, value]) => h("div", { class: ["Hash", "New account"].includes(name) ? "wide" : null }, h("dt", {}, name), h("dd", {}, value))));
}

// It opens elsewhere, and learns nothing of this page.
function explorer({ explorer: link }) {
  return link?.startsWith("https://") && h("p", {}, h("a", { href: link, target: "_blank", rel: "noopener noreferrer" }, `Show it at ${new URL(link).host}`));
}
