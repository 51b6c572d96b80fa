// The second step: the daemon runs the transaction on every chain it touches, for the account that will sign it.

import { get, post } from "./api.js";
import { fill, h, problemOf, selection } from "./dom.js";
import { joined, lostIn, resultOf, sumsOf } from "./figures.js";
import { sentence } from "./format.js";
import { isUnknown } from "./words.js";

const VERDICTS = { ok: ["Will succeed", "ok"], refused: ["Will fail", "refused"], unknown: ["Couldn't be simulated", "unknown"] };
// Milliseconds after which a simulation that nobody answered is tried again.
const AGAIN = 6000;

// `ended(passed, check)` hears of every result, and of null while there is none; `chosen()` of another asset that pays the fee.
export function simulationStep(transaction, ended, chosen, signal) {
  const place = h("div", { "aria-live": "polite" });
  const advanced = h("div");
  const body = h("div", {}, place, advanced);
  let run = 0;
  let folded = null;
  offerFeeAssets(advanced, transaction, chosen, signal);

  // Green says that it succeeds and loses nothing, also where somebody else decides whether it is made.
  function verdict(check, passed) {
    const lost = check?.verdict === "ok" ? lostIn(check) : [];
    const [words, tone] = VERDICTS[check?.verdict] ?? VERDICTS.unknown;
    if (lost.length) return { verdict: `Will succeed, but ${joined(sumsOf(lost))} would be lost`, tone: "unknown" };
    return check?.verdict === "ok" && !passed ? { verdict: "Would succeed, but its condition wasn't checked", tone: "unknown" } : { verdict: words, tone };
  }

  async function simulate(account) {
    const number = ++run;
    ended(null);
    fill(place, h("p", { class: "waits" }, "Simulating on every chain that the transaction touches…"));
    const { chain, tx } = transaction;
    transaction.toSign = null;
    try {
      const check = await checkOf(transaction, account.here, signal);
      // Where accounts have a fee currency, it is set in a batch around the transaction.
      const decoded = check.txdata === tx ? null : await post("/api/tx/decode", { chain, tx: check.txdata }, signal);
      if (number !== run) return;
      if (decoded) transaction.toSign = { tx: check.txdata, callData: decoded.call_data, decoded };
      const passed = check.verdict === "ok" && lostIn(check).length === 0 && !transaction.conditional;
      const { verdict: words, tone } = verdict(check, passed);
      folded = h("details", { open: true }, h("summary", { class: `verdict ${tone}` }, words),
        decoded && decoded.call_data !== transaction.callData && h("p", { class: "says" }, "You sign: ", sentence(decoded.says)),
        resultOf(check, transaction));
      fill(place, folded);
      ended(passed, check);
    } catch (error) {
      if (signal.aborted || number !== run) return;
      folded = null;
      fill(place, h("p", { class: "verdict unknown" }, VERDICTS.unknown[0]), problemOf(error, () => simulate(account)));
      ended(false);
      if (isUnknown(error)) setTimeout(() => { if (number === run && !signal.aborted && !place.closest(".over")) simulate(account); }, AGAIN);
    }
  }

  function clear() {
    run += 1;
    folded = null;
    fill(place, h("p", { class: "hint" }, "Runs by itself once the account is chosen."));
  }

  clear();
  return { body, simulate, clear, verdict, fold: (is) => { if (folded) folded.open = !is; } };
}

// Returns the check of a transaction; that of a batch is ok only if each of its transactions is proven alone too.
async function checkOf({ chain, tx, feeAsset, batch }, sender, signal) {
  const source = batch ? { scenario: batch.scenario, together: true } : { chain, tx };
  const check = await post("/api/tx/check", { ...source, sender, ...(feeAsset && { fee_asset: feeAsset }) }, signal);
  if (!batch || check.verdict !== "ok" || check.txdata === tx) return check;
  return { ...check, verdict: "unknown", reasons: ["The transaction has changed since it was drafted. Refresh it."] };
}

// Assets that are offered to pay the fee. Wallets built on polkadot.js misread assets of Ethereum.
const PAYING = {
  asset_hub: ({ location, pays_fees: pays }) => pays && !location.includes("Ethereum"),
  dex: () => true,
};

// Offers the assets in which the chain takes fees, if it takes more than its own.
async function offerFeeAssets(place, transaction, chosen, signal) {
  const { chain, role } = transaction;
  // Each transaction of a batch is checked with the fee in the native asset alone.
  if (!(role in PAYING) || transaction.batch) return;
  const { assets } = await get("/api/assets", { chain }, signal).catch(() => ({ assets: [] }));
  const taken = assets.filter((asset) => asset.canonical && PAYING[role](asset));
  if (taken.length < 2) return;
  const options = taken.map(({ id, kind, symbol }) => [role === "asset_hub" && kind === "native" ? "" : id, symbol]);
  if (role === "dex") options.unshift(["", "The account's fee currency"]);
  const choice = selection("fee_asset", "Pay the fee in", options, "");
  choice.querySelector("select").addEventListener("change", ({ target }) => {
    transaction.feeAsset = target.value;
    chosen();
  });
  fill(place, h("details", {}, h("summary", {}, "Advanced"), choice,
    role === "dex" && h("p", { class: "hint" }, `Another asset is set as the account's fee currency: it pays all its fees on ${transaction.chainTitle} in it, until you set another.`)));
}

