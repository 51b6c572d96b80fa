// The third step: the payload, how long it is valid, and the ways to have it signed; what comes back is compared with it.

import { transferable } from "./accounts.js";
import { rawAmount } from "./amounts.js";
import { post } from "./api.js";
import { blame, copyButton, field, fill, h, mistake, pardon, problemOf, selection, values } from "./dom.js";
import { blocksOf, clockOf } from "./validity.js";
import { pasted, payloadCodes, signatureReader } from "./vault.js";
import { signWith, titleOf } from "./wallets.js";
import { isUnknown, sentenceOf } from "./words.js";

// Milliseconds after which a signature that couldn't be compared is compared again.
const AGAIN = 4000;
const PERIODS = [["", "64 blocks (default)"], ["16", "16 blocks"], ["256", "256 blocks"], ["1024", "1024 blocks"], ["4096", "4096 blocks"], ["immortal", "Never expires"]];

// `begin(half, blocks)` hears of what was signed before it is compared, `done({tx, hash})` of a signed transaction, and `refused()` if it
// isn't one of this payload.
export function signatureStep(transaction, { begin, done, refused }, signal) {
  const body = h("div");
  let run = 0;
  let ticking = new AbortController();
  const stopTicking = () => ticking.abort();
  signal.addEventListener("abort", stopTicking);

  function clear(why = "Comes after the simulation.") {
    run += 1;
    stopTicking();
    fill(body, h("p", { class: "hint" }, why));
  }

  // Shows the ways to sign for `account`.
  function open(account) {
    stopTicking();
    const validity = h("div", { "aria-live": "polite" });
    const ways = h("div");
    const fee = h("p", { class: "hint" });
    const notes = h("div");
    const advanced = advancedFields(transaction, account, fee);
    const details = h("details", {}, h("summary", {}, "Advanced"), notes, advanced,
      h("div", { class: "actions" }, h("button", { type: "button", onclick: prepare }, "Prepare again with these")));
    fill(body, validity, ways, details);

    async function prepare() {
      const number = ++run;
      stopTicking();
      fill(validity, h("p", { class: "waits" }, "Preparing the payload…"));
      fill(ways);
      pardon(advanced);
      try {
        const fields = options(advanced, transaction);
        await checkTip(fields.tip, values(advanced).tip, account);
        const payload = await payloadFor(account, fields);
        if (number !== run) return;
        await show(payload, number);
      } catch (error) {
        if (signal.aborted || number !== run) return;
        fill(validity, problemOf(error), h("div", { class: "actions" }, again()));
        blame(advanced, error);
      }
    }

    const again = (label = "Prepare again", kind = "quiet") => h("button", { type: "button", class: kind, onclick: prepare }, label);

    async function show(payload, number) {
      const blocks = blocksOf(payload.signer_payload);
      ticking = new AbortController();
      const clock = blocks ? clockOf(payload.chain, transaction.chainTitle, blocks, () => expire(number), ticking.signal) : h("p", {}, "Never expires.");
      fill(validity, payload.warnings.map((warning) => h("p", { class: "notice" }, warning)),
        clock);
      fill(notes, payload.notes.map((note) => h("p", { class: "hint" }, note)));
      fill(fee, payload.fee_asset ? `The fee is paid in ${payload.fee_asset.symbol}.` : `The fee is paid in ${transaction.symbol}, or in the currency that the account has set for fees.`);
      const finish = ({ tx, hash }) => {
        if (number !== run) throw new Error("This signature came too late: the transaction was prepared again or signed meanwhile.");
        // Another signature of this payload would be another transaction with the same nonce.
        clear();
        done({ tx, hash, first: blocks?.first ?? 0, until: blocks?.last ?? 0 });
      };
      // The daemon compares what was signed with this payload, which no wallet gets to change.
      const assemble = async (signed) => {
        const until = { first: blocks?.first ?? 0, until: blocks?.last ?? 0 };
        if (number !== run) throw new Error("This signature came too late: the transaction was prepared again or signed meanwhile.");
        begin({ payload, signed }, until);
        for (;;) {
          try {
            finish(await post("/api/tx/assemble", { payload, ...signed }, signal));
            return;
          } catch (error) {
            if (!isUnknown(error)) {
              if (!signal.aborted && number === run) refused();
              throw error;
            }
            fill(validity, h("p", { class: "notice" }, "Your signature is kept. The page tries again by itself once the chain can be read."), problemOf(error));
            await new Promise((wake) => setTimeout(wake, AGAIN));
            signal.throwIfAborted();
          }
        }
      };
      const take = (signature) => assemble({ signature });
      if (account.wallet) fill(ways, walletWay(account, payload, assemble), hidden(payload, take));
      else {
        const others = await otherWays(payload, take);
        if (number !== run) return;
        fill(ways, others);
      }
    }

    // Takes the ways to sign away.
    function expire(number) {
      if (number !== run) return;
      run += 1;
      fill(validity, h("p", { class: "notice" }, "This payload has expired. Nothing was sent."), h("div", { class: "actions" }, again("Make a new one", "primary")));
      fill(ways);
    }

    // The codes are drawn when somebody wants them.
    function hidden(payload, take) {
      const place = h("div");
      const show = async () => {
        try {
          fill(place, await otherWays(payload, take));
        } catch (error) {
          if (!signal.aborted) fill(place, problemOf(error, show));
        }
      };
      return h("details", { ontoggle: ({ target }) => { if (target.open && !place.querySelector(".columns")) show(); } }, h("summary", {}, "Sign another way"), place);
    }

    function walletWay(from, payload, assemble) {
      const title = titleOf(from.wallet);
      const said = h("div", { "aria-live": "polite" });
      const button = h("button", { type: "button", class: "primary", onclick: sign }, `Sign with ${title}`);

      async function sign() {
        const waiting = new AbortController();
        const stop = () => waiting.abort();
        signal.addEventListener("abort", stop);
        button.disabled = true;
        fill(said, h("p", {}, `Waiting for ${title}. Compare what its window shows, and confirm there. `, h("button", { type: "button", onclick: stop }, "Stop waiting")));
        try {
          const answer = await signWith(from, payload.signer_payload, waiting.signal);
          if (answer.signedTransaction) await assemble({ signed_transaction: answer.signedTransaction });
          else if (answer.signature) await assemble({ signature: answer.signature });
          else throw new Error(`${title} returned no signature. Nothing was sent.`);
          fill(said);
        } catch (error) {
          fill(said, error.name !== "AbortError" && refusalOf(error, title));
        } finally {
          button.disabled = false;
          signal.removeEventListener("abort", stop);
        }
      }

      return h("div", {}, h("div", { class: "actions" }, button), said);
    }

    prepare();
  }

  // What was simulated: the transaction itself, or the batch that sets the fee currency before it.
  const callToSign = () => (transaction.toSign ?? transaction).callData;

  // A digit too many is a fortune; an account that has less would only be refused in the end.
  async function checkTip(tip, typed, account) {
    const held = tip && await transferable(account, transaction.chainRow, signal).catch(() => undefined);
    if (held && BigInt(tip) > BigInt(held.value)) throw mistake("tip", `The tip of ${typed} ${transaction.symbol} is more than the account can send: ${held.human}.`);
  }

  async function payloadFor(account, fields) {
    const source = transaction.draft ?? { chain: transaction.chain, tx: transaction.tx };
    const paid = transaction.feeAsset ? { fee_asset: transaction.feeAsset } : {};
    const payload = await post("/api/tx/payload", { ...source, ...fields, ...paid, sender: account.here }, signal);
    // The simulation was of this call; a payload of another one is never shown to a wallet.
    if (payload.signer_payload.method !== callToSign()) throw new Error("The transaction has changed since it was simulated. Refresh it, and simulate it again.");
    return payload;
  }

  async function otherWays(payload, take) {
    const json = JSON.stringify(payload.signer_payload, null, 2);
    const codes = transaction.accountBytes === 32 ? await payloadCodes(payload.vault_payload, signal) : null;
    return h("div", { class: "columns" },
      codes && h("section", { class: "card", "aria-labelledby": "vault" },
        h("h3", { id: "vault" }, "Polkadot Vault"),
        h("p", { class: "hint" }, "For an ed25519 key, choose the key type under Advanced."),
        codes, signatureReader(take, signal)),
      h("section", { class: "card", "aria-labelledby": "other-signer" },
        h("h3", { id: "other-signer" }, "Another signer"),
        h("p", { class: "hint" }, "Any program that signs polkadot.js's SignerPayloadJSON, or plain bytes."),
        h("div", { class: "actions" },
          h("a", { class: "button", download: "payload.json", href: `data:application/json,${encodeURIComponent(json)}` }, "Download payload.json"),
          copyButton("Copy SignerPayloadJSON", JSON.stringify(payload.signer_payload)),
          copyButton("Copy bytes to sign", payload.bytes_to_sign)),
        pasted(take, "Signature", "Hex of 64 to 66 bytes.")));
  }

  clear();
  return { body, open, clear };
}

// What a wallet signed in place of what it was given, as the daemon read it.
function refusalOf(error, title) {
  if (error.code !== "invalid_request") return problemOf(error);
  const differences = error.body.differences;
  if (!Array.isArray(differences)) return problemOf(new Error(`What ${title} returned is refused, and nothing was sent: ${sentenceOf(error)}`));
  return h("div", { class: "problem", role: "alert" },
    h("p", {}, `${title} signed something else than this page showed. Nothing was sent.`),
    h("table", {},
      h("caption", { class: "offscreen" }, "What differs"),
      h("thead", {}, h("tr", {}, ["Part", "Signed", "Shown"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, differences.map(({ part, signed, expected }) => h("tr", {}, [part, signed, expected].map((words) => h("td", {}, words)))))));
}

function advancedFields({ symbol }, account, fee) {
  return h("form", { class: "advanced", onsubmit: (event) => event.preventDefault() },
    field("nonce", "Nonce", { hint: "Default: the next nonce of the account on the chain. Required offline.", inputmode: "numeric" }),
    field("tip", `Tip, in ${symbol}`, { hint: "In whole tokens, for example 0.01. Default: none.", inputmode: "decimal" }),
    selection("era", "Valid for", PERIODS, ""),
    selection("crypto", "Key type, for Polkadot Vault", [["sr25519", "sr25519"], ["ed25519", "ed25519"]], account.type === "ed25519" ? "ed25519" : "sr25519"),
    fee);
}

function options(advanced, { decimals, symbol }) {
  const given = values(advanced);
  return given.tip ? { ...given, tip: rawAmount(given.tip.replace(new RegExp(`\\s*${symbol}$`, "i"), ""), decimals, "tip") } : given;
}
