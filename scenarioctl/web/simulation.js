// The second step: the daemon runs the transaction on every chain it touches, for the account that will sign it.

import { get, post } from "./api.js";
import { fill, h, problemOf, selection } from "./dom.js";
import { account as shown, amount } from "./format.js";

const VERDICTS = { ok: "Will succeed", refused: "Will fail", unknown: "Couldn't be simulated" };

// `ended(passed, check)` hears of every result, and of null while there is none; `chosen()` of another asset that pays the fee.
export function simulationStep(transaction, ended, chosen, signal) {
  const place = h("div", { "aria-live": "polite" });
  const advanced = h("div");
  const body = h("div", {}, place, advanced);
  let run = 0;
  offerFeeAssets(advanced, transaction, chosen, signal);

  async function simulate(account) {
    const number = ++run;
    ended(null);
    fill(place, h("p", {}, "Simulating on every chain that the transaction touches…"));
    const again = h("button", { type: "button", onclick: () => simulate(account) }, "Simulate again");
    const { chain, tx } = transaction;
    transaction.toSign = null;
    try {
      const check = await checkOf(transaction, account.here, signal);
      // Where accounts have a fee currency, it is set in a batch around the transaction.
      const decoded = check.txdata === tx ? null : await post("/api/tx/decode", { chain, tx: check.txdata }, signal);
      if (number !== run) return;
      if (decoded) transaction.toSign = { tx: check.txdata, callData: decoded.call_data, decoded };
      const verdict = check.verdict in VERDICTS ? check.verdict : "unknown";
      fill(place, h("p", { class: `verdict ${verdict}` }, VERDICTS[verdict]),
        decoded && decoded.call_data !== transaction.callData && h("p", { class: "says" }, `You sign: ${decoded.says}`),
        result(check), h("div", { class: "actions" }, again));
      ended(verdict === "ok", check);
    } catch (error) {
      if (signal.aborted || number !== run) return;
      fill(place, h("p", { class: "verdict unknown" }, VERDICTS.unknown), problemOf(error), h("div", { class: "actions" }, again));
      ended(false);
    }
  }

  function clear() {
    run += 1;
    fill(place, h("p", { class: "hint" }, "Runs by itself once the account is chosen."));
  }

  clear();
  return { body, simulate, clear };
}

// Returns the check of a transaction; that of a batch is ok only if each of its transactions is proven alone too.
async function checkOf({ chain, tx, feeAsset, batch }, sender, signal) {
  const check = await post("/api/tx/check", { chain, tx, sender, ...(feeAsset && { fee_asset: feeAsset }) }, signal);
  if (!batch || check.verdict !== "ok") return check;
  const unproven = (reason) => ({ ...check, warnings: check.warnings, verdict: "unknown", reasons: [...check.reasons, reason] });
  try {
    const again = await post("/api/scenario/batch", { id: batch.scenario, sender, check: true }, signal);
    return again.tx === tx ? check : unproven("The transaction has changed since it was drafted. Refresh it.");
  } catch (error) {
    if (signal.aborted || error.code === "gone") throw error;
    return unproven(error.message);
  }
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

const whole = ({ human, value, asset }) => (human ? amount(human, value) : `${value} ${asset}`);

// What a check adds to its steps if it finds it lost, or not to be had at first.
const LOST = { destroyed: "is destroyed", dust: "is too little to be kept", locked: "can't be spent at first" };

// What somebody risks who signs in spite of a check that didn't pass, or of none; each a sentence.
export function risksOf(transaction, check) {
  const { decoded } = transaction.toSign ?? transaction;
  if (!check) return [`Nobody knows what becomes of this, because it wasn't simulated. You risk its fee and what it moves: it ${decoded.says}.`];
  const words = ({ chain, ...step }, what) => [whole(step), ` on ${chain}${what}`];
  const listed = check.steps.filter(({ what }) => what === "leaves");
  const gone = listed.length ? listed : check.leaves.filter(({ role }) => role === "the sender");
  const fee = check.steps.find(({ what }) => what === "transaction fee");
  return [
    gone.length === 0 ? `You risk what it moves: it ${decoded.says}.` : ["You risk ", gone.map((each, number) => [number > 0 && ", ", words(each, "")]), ", which leaves your account."],
    ...check.steps.filter(({ what }) => what in LOST).map((each) => ["You lose ", words(each, `, which ${LOST[each.what]}.`)]),
    fee ? ["You lose the fee of ", whole(fee), " even if it fails in its block."] : "You lose its fee even if it fails in its block.",
    check.reasons[0] && `The simulation says: ${check.reasons[0]}`,
  ].filter(Boolean);
}

function result(check) {
  const reasons = [...check.reasons, ...check.warnings];
  const credits = check.credits.filter(({ system }) => !system);
  return [
    reasons.length > 0 && h("ul", {}, reasons.map((reason) => h("li", {}, reason))),
    check.steps.length > 0 && h("table", {},
      h("caption", { class: "offscreen" }, "Amounts that leave, fees of each hop, amounts that arrive"),
      h("thead", {}, h("tr", {}, ["Chain", "Step", "Amount"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, check.steps.map((step) => h("tr", {}, h("td", {}, step.chain), h("td", {}, step.what), h("td", {}, step.at_most && "at most ", whole(step)))))),
    // Shows the signer any account that they did not mean to pay.
    credits.length > 0 && h("table", {},
      h("caption", {}, "Credited accounts"),
      h("thead", {}, h("tr", {}, ["Chain", "Account", "Amount"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, credits.map((each) => h("tr", {},
        h("td", {}, each.chain),
        h("td", {}, shown(each.account), each.role ? ` (${each.role})` : ""),
        h("td", {}, whole(each)))))),
  ];
}
