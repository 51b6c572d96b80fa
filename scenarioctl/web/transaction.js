// The unsigned transaction of a scenario: decoded, simulated for an account, and prepared for wallets.

import { onGone, post } from "./api.js";
import { copyButton, field, fill, form, h, problemOf, selection } from "./dom.js";

export function transactionPart(scenario, signal) {
  const drafted = h("div", { "aria-live": "polite" }, h("p", {}, "Drafting…"));
  // The forms and their results stay when the draft is refreshed.
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
          h("button", { type: "button", onclick: draft }, "Refresh")),
        h("details", {}, h("summary", {}, "Arguments of the call"), tree(decoded.call)));
      forms.hidden = false;
      // A verdict and a payload belong to one transaction.
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

// The account typed into one form is filled into the other.
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
    ["Destination", result.dest_chain],
    ["Type", result.txtype],
    result.asset && ["Asset", result.asset],
    result.amount !== "0" && ["Amount", result.amount],
    ["Runtime", `${decoded.spec_version}${decoded.offline ? ", built offline, not checked against a node" : ""}`],
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
    if (verdict.childElementCount) fill(verdict, h("p", { class: "notice" }, "The transaction has changed. Simulate it again."));
  });
  return h("section", { class: "card", "aria-labelledby": "check" },
    h("h3", { id: "check" }, "Simulate before signing"),
    h("p", { class: "hint" }, "Runs the transaction on every chain it touches, without sending it."),
    form("Simulate", async ({ sender }) => {
      fill(verdict, h("p", {}, "Simulating…"));
      try {
        const { chain, tx } = transaction;
        const check = await post("/api/tx/check", { chain, tx, sender: sender ?? "" });
        if (tx !== transaction.tx) return;
        fill(verdict,
          h("p", { class: `verdict ${check.verdict}` }, VERDICTS[check.verdict] ?? check.verdict),
          h("ul", {}, [...check.reasons, ...check.warnings].map((reason) => h("li", {}, reason))),
          check.steps.length > 0 && h("table", {},
            h("caption", { class: "offscreen" }, "Amounts that leave, fees of each hop, amounts that arrive"),
            h("thead", {}, h("tr", {}, ["Chain", "Step", "Amount"].map((name) => h("th", { scope: "col" }, name)))),
            h("tbody", {}, check.steps.map((step) => h("tr", {}, h("td", {}, step.chain), h("td", {}, step.what), h("td", {}, step.human ?? `${step.value} ${step.asset}`))))),
          credited(check.credits.filter(({ system }) => !system)));
      } catch (error) {
        fill(verdict);
        throw error;
      }
    }, field("sender", "Signing account", { hint: "SS58 address or 0x public key.", required: true })),
    verdict);
}

// Shows the signer any account that they did not mean to pay.
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

const VERDICTS = { ok: "Simulation passed", refused: "Simulation failed", unknown: "Result unknown" };

function payloadForm(transaction) {
  const place = h("div", { "aria-live": "polite" });
  transaction.changed.add(() => {
    if (place.childElementCount) fill(place, h("p", { class: "notice" }, "The transaction has changed. Prepare it for signing again."));
  });
  return h("section", { class: "card", "aria-labelledby": "payload" },
    h("h3", { id: "payload" }, "Sign elsewhere"),
    h("p", { class: "hint" }, "This page does not sign. It prepares the bytes that your wallet signs."),
    form("Prepare for signing", async (given) => {
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
          h("figcaption", {}, "Scan with Polkadot Vault.")));
    },
    field("sender", "Signing account", { hint: "SS58 address or 0x public key.", required: true }),
    field("nonce", "Nonce (optional)", { hint: "Default: the current nonce on the chain. Required offline.", inputmode: "numeric" }),
    selection("crypto", "Key type", [["sr25519", "sr25519"], ["ed25519", "ed25519"]], "sr25519")),
    place);
}
