// The last step: a signed transaction is sent once.

import { get, onGone, post } from "./api.js";
import { copyButton, fill, h, problemOf } from "./dom.js";
import { account, grouped } from "./format.js";
import { sentLink } from "./sent.js";
import { forget, keep } from "./signed.js";
import { clockOf } from "./validity.js";

// With the scenario, to go back to: a job is known to the daemon.
function linkOf({ chain, hash, source }) {
  const scenario = new URLSearchParams(source).get("scenario");
  return sentLink(chain, hash, scenario && { scenario });
}

// What it was made of, which the daemon then knows as sent.
export function madeOf({ draft, source }) {
  const { scenario, node = "", batch } = Object.fromEntries(new URLSearchParams(source));
  return draft ?? (scenario ? { scenario, step: batch ? "all" : node } : {});
}

// Whether the transaction may have been sent although an error came back: only the daemon itself can say that it was not.
function isUncertain(error) {
  return error.code === "gone" || !error.body?.code || error.status === 500 || Boolean(error.body.hash);
}

// The button that sends `record`, a transaction of signed.js; `discard` is there while it is surely not sent, and `anew` starts
// over once it has expired.
export function sendStep(record, title, signal, discard, anew) {
  const said = h("div", { "aria-live": "polite" });
  // Who insisted on it is reminded of what on.
  const { warning } = record.brief ?? {};
  const button = h("button", { type: "button", class: warning ? "danger" : "primary", onclick: send }, warning ?? "Send");
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

  // One that may have been sent is left alone: its status says what became of it.
  function expire() {
    if (button.disabled || !ask.hidden) return;
    button.hidden = discard.hidden = true;
    fill(said, h("p", { class: "notice" }, "This signature has expired. Nothing was sent."),
      h("div", { class: "actions" }, h("button", { type: "button", class: "primary", onclick: () => anew().catch((error) => fill(said, problemOf(error, anew))) }, "Make a new one")));
  }

  const blocks = { first: record.first, last: record.until, period: record.until - record.first + 1 };
  if (record.sending) {
    allow(false);
    doubt(null);
    look();
  }
  onGone((gone) => { if (!gone && !ask.hidden) look(); }, signal);
  return h("div", {},
    h("dl", { class: "facts" },
      h("div", { class: "wide" }, h("dt", {}, "Signed by"), h("dd", {}, account(record.address))),
      h("div", { class: "wide" }, h("dt", {}, "Hash"), h("dd", {}, h("code", {}, record.hash))),
      record.until > 0 && h("div", { class: "wide" }, h("dt", {}, "Valid"), h("dd", {}, record.first > 0 ? clockOf(record.chain, title, blocks, expire, signal) : `until block ${grouped(record.until)}`))),
    h("details", {}, h("summary", {}, "Signed bytes"), h("pre", { class: "hex", tabindex: "0", "aria-label": "Signed transaction, hex" }, record.signed), h("div", { class: "actions" }, copyButton("Copy the signed transaction", record.signed))),
    h("div", { class: "actions" }, button, ask, discard),
    said);
}
