// The last step: a signed transaction is sent once, and followed until it has arrived.

import { follow, get, onGone, post } from "./api.js";
import { tree } from "./call_tree.js";
import { copyButton, fill, h, problemOf } from "./dom.js";
import { account, amount, grouped, when } from "./format.js";
import { progressOf } from "./progress.js";
import { sentLink } from "./sent.js";
import { forget, keep, keptByHash } from "./signed.js";

// With the scenario, to go back to: a job is known to the daemon.
function linkOf({ chain, hash, source }) {
  const scenario = new URLSearchParams(source).get("scenario");
  return sentLink(chain, hash, scenario && { scenario });
}

// What it was made of, which the daemon then knows as sent.
function madeOf({ draft, source }) {
  const { scenario, node = "", batch } = Object.fromEntries(new URLSearchParams(source));
  return draft ?? (scenario ? { scenario, step: batch ? "all" : node } : {});
}

// Whether the transaction may have been sent although an error came back: only the daemon itself can say that it was not.
function isUncertain(error) {
  return error.code === "gone" || !error.body?.code || error.status === 500 || Boolean(error.body.hash);
}

// The button that sends `record`, a transaction of signed.js; `discard` is there while it is surely not sent.
export function sendStep(record, signal, discard) {
  const said = h("div", { "aria-live": "polite" });
  const button = h("button", { type: "button", class: "primary", onclick: send }, "Send");
  const ask = h("button", { type: "button", hidden: true, onclick: look }, "Ask for its status");

  function allow(is) {
    button.disabled = !is;
    discard.hidden = !is;
  }

  async function send() {
    allow(false);
    fill(said, h("p", {}, "Sending…"));
    keep(record.source, { ...record, sending: true });
    const { chain, signed } = record;
    try {
      // It goes on when somebody leaves the view, so it has no signal.
      await post("/api/chain/Broadcast", { chain, tx: signed, ...madeOf(record) });
      leave(true);
    } catch (error) {
      if (error.body?.state) leave(error.body.state !== "uncertain");
      else if (isUncertain(error)) {
        doubt(error);
        if (error.code !== "gone") await look();
      }
      else {
        keep(record.source, { ...record, sending: false });
        fill(said, problemOf(error));
        allow(true);
      }
    }
  }

  // What may have been sent is kept: if it was not, the same bytes can be sent again.
  function leave(certain) {
    if (certain) forget(record.hash);
    if (!signal.aborted) location.hash = linkOf(record);
  }

  function doubt(error) {
    ask.hidden = false;
    fill(said, h("p", { class: "notice" }, "This transaction may have been sent. Ask for its status before you send it again."), error && problemOf(error));
  }

  async function look() {
    ask.disabled = true;
    try {
      const status = await get("/api/tx/status", { chain: record.chain, hash: record.hash }, signal);
      if (status.state !== "unknown") {
        leave(status.state !== "uncertain");
        return;
      }
      ask.hidden = true;
      keep(record.source, { ...record, sending: false });
      fill(said, h("p", {}, "It was not sent: neither the daemon nor the chain knows it."));
      allow(true);
    } catch (error) {
      if (!signal.aborted) doubt(error);
    } finally {
      ask.disabled = false;
    }
  }

  if (record.sending) {
    allow(false);
    doubt(null);
    look();
  }
  onGone((gone) => { if (!gone && !ask.hidden) look(); }, signal);
  return h("div", {},
    h("dl", { class: "facts" },
      h("div", { class: "wide" }, h("dt", {}, "Hash"), h("dd", {}, h("code", {}, record.hash))),
      record.until > 0 && h("div", {}, h("dt", {}, "Valid until block"), h("dd", {}, grouped(record.until)))),
    h("details", {}, h("summary", {}, "Signed bytes"), h("pre", { class: "hex", tabindex: "0", "aria-label": "Signed transaction, hex" }, record.signed), h("div", { class: "actions" }, copyButton("Copy the signed transaction", record.signed))),
    h("div", { class: "actions" }, button, ask),
    said);
}

// A sent transaction, followed live: `#/tx/?chain=…&hash=…`.
export async function sentView(query, signal) {
  const [chain, hash] = ["chain", "hash"].map((name) => query.get(name) ?? "");
  if (!chain || !/^0x[0-9a-f]{64}$/.test(hash)) throw new Error("This link names no transaction: it needs a chain and a hash of 0x and 64 hex digits.");
  const scenario = query.get("scenario");
  const place = h("div");
  const trouble = h("div");
  const row = await get(`/api/chains/${encodeURIComponent(chain)}`, {}, signal);
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
  if (status.state === "expired") [steps[1][1], steps[2][1]] = ["unknown", "failed"];
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
    progressOf(stepsOf(status), "Progress"),
    h("p", { class: "says", role: "status" }, status.summary),
    status.notes.length > 0 && h("ul", { class: "notice" }, status.notes.map((note) => h("li", {}, note))),
    status.state === "expired" && h("p", {}, "Nothing was paid. To send it all the same, sign it again."),
    status.success === false && h("p", { class: "problem", role: "alert" }, `It failed in its block, and its fee is spent: ${status.error || "the chain gave no reason"}`),
    record && ["unknown", "uncertain"].includes(status.state) && again(record, status, look, signal),
    status.arrivals.length > 0 && h("ul", { class: "arrivals" }, status.arrivals.map(arrival)),
    facts(status, chain, block),
    status.events?.length > 0 && h("details", {}, h("summary", {}, status.events.length === 1 ? "1 event" : `${status.events.length} events`), h("ul", {}, status.events.map((event) => h("li", {}, tree(event))))),
    status.job && h("p", {}, h("a", { href: `#/create/?diagramData=${encodeURIComponent(status.job)}` }, "Go to the job")),
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
  return h("div", {}, h("p", { class: "hint" }, "This tab still has the signed bytes. A chain executes them once, however often they are sent."), h("div", { class: "actions" }, button), said);
}

function arrival({ chain, state, block_number: block, reason }) {
  const at = typeof block === "number" ? ` in block ${grouped(block)}` : "";
  const words = { waiting: "waiting for the message to arrive", arrived: `arrived${at}`, failed: `failed${at}`, unknown: "unknown" };
  return h("li", { class: state }, h("strong", {}, chain), `: ${words[state] ?? "unknown"}`, reason ? `. ${reason}` : "");
}

function facts(status, chain, block) {
  const paid = status.fee_paid_in;
  const fee = paid ? amount(paid.human ?? `${paid.value} ${paid.asset}`, paid.value) : status.fee_human ? amount(status.fee_human, status.fee) : null;
  const rows = [
    ["Chain", chain.title || chain.name],
    status.sent && ["Sent", when(status.sent)],
    block && ["Block", h("span", { title: status.block || null }, block, typeof status.extrinsic_index === "number" ? `, transaction ${status.extrinsic_index}` : "")],
    fee && ["Fee", fee],
    typeof status.valid_until_block === "number" && ["Valid until block", grouped(status.valid_until_block)],
    status.signer && ["Signed by", account(status.signer)],
    ["Hash", [h("code", {}, status.hash), " ", copyButton("Copy hash", status.hash)]],
  ].filter(Boolean);
  return h("dl", { class: "facts" }, rows.map(([name, value]) => h("div", { class: name === "Hash" || name === "Signed by" ? "wide" : null }, h("dt", {}, name), h("dd", {}, value))));
}
