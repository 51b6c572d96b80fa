// The unsigned transaction of a scenario: decoded, checked for an account, and in the forms that wallets take.

import { onGone, post } from "./api.js";
import { copyButton, field, fill, form, h, problemOf, selection } from "./dom.js";

export function transactionPart(scenario, signal) {
  const drafted = h("div", { "aria-live": "polite" }, h("p", {}, "Drafting …"));
  // What is typed here, and found out, stays when the transaction is drafted anew.
  const forms = h("div", { class: "columns", hidden: true });
  const transaction = { chain: "", tx: "", changed: new Set() };
  fill(forms, checkForm(transaction), payloadForm(transaction));
  shareSender(forms);

  let outage = false;

  async function draft() {
    outage = false;
    try {
      const full = await post("/api/scenario/info/full", { id: scenario.id }, signal);
      const { result } = full;
      const decoded = await post("/api/tx/decode", { chain: result.source_chain, tx: result.tx }, signal);
      const changed = transaction.tx !== result.tx;
      Object.assign(transaction, { chain: result.source_chain, tx: result.tx });
      fill(drafted,
        h("p", { class: "says" }, decoded.says),
        full.warnings.map((warning) => h("p", { class: "notice" }, warning)),
        facts(result, decoded),
        h("pre", { class: "hex", tabindex: "0", "aria-label": "Transaction, hex" }, result.tx),
        h("div", { class: "actions" },
          copyButton("Copy hex", result.tx),
          copyButton("Copy call data", decoded.call_data),
          h("button", { type: "button", onclick: draft }, "Draft anew")),
        h("details", {}, h("summary", {}, "The call, argument by argument"), tree(decoded.call)));
      forms.hidden = false;
      // A verdict, and bytes to sign, are of one transaction.
      if (changed) for (const tell of transaction.changed) tell();
    } catch (error) {
      if (signal.aborted) return;
      fill(drafted,
        problemOf(error),
        h("p", {}, h("button", { type: "button", onclick: draft }, "Try again")));
      forms.hidden = true;
      outage = error.code === "gone";
    }
  }

  draft();
  onGone((gone) => { if (!gone && outage) draft(); }, signal);
  return h("section", { "aria-labelledby": "transaction" }, h("h2", { id: "transaction" }, "Unsigned transaction"), drafted, forms);
}

// Who checks a transaction and then signs it types the account once.
function shareSender(place) {
  const boxes = [...place.querySelectorAll("[name=sender]")];
  for (const box of boxes) {
    box.addEventListener("change", () => {
      for (const other of boxes) if (other.value === "") other.value = box.value;
    });
  }
}

function facts(result, decoded) {
  const rows = [
    ["Chain", result.source_chain],
    ["To", result.dest_chain],
    ["Type", result.txtype],
    result.asset && ["Asset", result.asset],
    result.amount !== "0" && ["Amount", result.amount],
    ["Runtime", `${decoded.spec_version}${decoded.offline ? ", offline: no node was asked" : ""}`],
  ].filter(Boolean);
  return h("dl", { class: "facts" }, rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, String(value)))));
}

export function tree(value) {
  if (Array.isArray(value)) return value.length ? h("ul", {}, value.map((each) => h("li", {}, tree(each)))) : "(none)";
  if (value !== null && typeof value === "object") {
    return h("ul", {}, Object.entries(value).map(([name, each]) => h("li", {}, h("b", {}, name), ": ", tree(each))));
  }
  return h("code", {}, value === null ? "none" : String(value));
}

function checkForm(transaction) {
  const verdict = h("div", { "aria-live": "polite" });
  transaction.changed.add(() => {
    if (verdict.childElementCount) fill(verdict, h("p", { class: "notice" }, "The transaction has changed. Check it again."));
  });
  return h("section", { class: "card", "aria-labelledby": "check" },
    h("h3", { id: "check" }, "Check before signing"),
    h("p", { class: "hint" }, "Tries it on every chain it touches, for the account that will sign it."),
    form("Check", async ({ sender }) => {
      fill(verdict, h("p", {}, "Trying it on the chains …"));
      try {
        const { chain, tx } = transaction;
        const check = await post("/api/tx/check", { chain, tx, sender: sender ?? "" });
        if (tx !== transaction.tx) return;
        fill(verdict, 
          h("p", { class: `verdict ${check.verdict}` }, VERDICTS[check.verdict] ?? check.verdict),
          h("ul", {}, [...check.reasons, ...check.warnings].map((reason) => h("li", {}, reason))),
          check.steps.length > 0 && h("table", {},
            h("caption", { class: "offscreen" }, "What leaves, what each hop takes, what arrives"),
            h("thead", {}, h("tr", {}, ["Chain", "What", "Amount"].map((name) => h("th", { scope: "col" }, name)))),
            h("tbody", {}, check.steps.map((step) => h("tr", {}, h("td", {}, step.chain), h("td", {}, step.what), h("td", {}, step.human ?? `${step.value} ${step.asset}`))))),
          credited(check.credits.filter(({ system }) => !system)));
      } catch (error) {
        fill(verdict);
        throw error;
      }
    }, field("sender", "Account that will sign", { hint: "SS58 address or 0x public key.", required: true })),
    verdict);
}

// Who gets what: an account that the signer did not mean stands out here.
function credited(credits) {
  if (!credits.length) return null;
  return h("table", {},
    h("caption", {}, "Credited accounts"),
    h("thead", {}, h("tr", {}, ["Chain", "Account", "Amount"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, credits.map((each) => h("tr", {},
      h("td", {}, each.chain),
      h("td", {}, h("code", {}, each.account), each.role ? ` (${each.role})` : ""),
      h("td", {}, each.human ?? `${each.value} ${each.asset}`)))));
}

const VERDICTS = { ok: "It passes", refused: "It would fail", unknown: "It could not be proven" };

function payloadForm(transaction) {
  const place = h("div", { "aria-live": "polite" });
  transaction.changed.add(() => {
    if (place.childElementCount) fill(place, h("p", { class: "notice" }, "The transaction has changed. Make the payload again."));
  });
  return h("section", { class: "card", "aria-labelledby": "payload" },
    h("h3", { id: "payload" }, "Sign elsewhere"),
    h("p", { class: "hint" }, "This page signs nothing. It makes the bytes that a wallet signs."),
    form("Make the payload", async (given) => {
      fill(place);
      const { chain, tx } = transaction;
      const payload = await post("/api/tx/payload", { chain, tx, ...given });
      const { codes } = await post("/web/vault", { payload: payload.vault_payload });
      if (tx !== transaction.tx) return;
      fill(place,
        payload.warnings.map((warning) => h("p", { class: "notice" }, warning)),
        h("div", { class: "actions" },
          copyButton("Copy SignerPayloadJSON", JSON.stringify(payload.signer_payload)),
          copyButton("Copy bytes to sign", payload.bytes_to_sign)),
        h("figure", {},
          codes.map((code, number) => h("img", { class: "qr", src: `data:image/svg+xml;base64,${code}`, alt: codes.length > 1 ? `Polkadot Vault QR code, ${number + 1} of ${codes.length}` : "Polkadot Vault QR code" })),
          h("figcaption", {}, "Scan it with Polkadot Vault.")));
    },
    field("sender", "Account that will sign", { hint: "SS58 address or 0x public key.", required: true }),
    field("nonce", "Nonce (optional)", { hint: "The connected chain tells it; offline it is needed.", inputmode: "numeric" }),
    selection("crypto", "Kind of key", [["sr25519", "sr25519"], ["ed25519", "ed25519"]], "sr25519")),
    place);
}
