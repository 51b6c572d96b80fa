// The second step: the daemon runs the transaction on every chain it touches, for the account that will sign it.

import { get, post } from "./api.js";
import { fill, h, problemOf, selection } from "./dom.js";
import { account as shown, amount, chainName, grouped } from "./format.js";

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
    fill(place, h("p", { class: "waits" }, "Simulating on every chain that the transaction touches…"));
    const again = h("button", { type: "button", class: "quiet", onclick: () => simulate(account) }, "Simulate again");
    const { chain, tx } = transaction;
    transaction.toSign = null;
    try {
      const check = await checkOf(transaction, account.here, signal);
      // Where accounts have a fee currency, it is set in a batch around the transaction.
      const decoded = check.txdata === tx ? null : await post("/api/tx/decode", { chain, tx: check.txdata }, signal);
      if (number !== run) return;
      if (decoded) transaction.toSign = { tx: check.txdata, callData: decoded.call_data, decoded };
      const verdict = check.verdict in VERDICTS ? check.verdict : "unknown";
      const losing = verdict === "ok" && lostIn(check).length > 0;
      fill(place, h("p", { class: `verdict ${losing ? "unknown" : verdict}` }, losing ? `Will succeed, but ${joined(sumsOf(lostIn(check)))} would be lost` : VERDICTS[verdict]),
        decoded && decoded.call_data !== transaction.callData && h("p", { class: "says" }, `You sign: ${decoded.says}`),
        result(check, transaction), h("div", { class: "actions" }, again));
      ended(verdict === "ok" && lostIn(check).length === 0, check);
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

const whole = ({ human, value, asset }) => (human ? amount(human, value) : `${grouped(value)} of the smallest unit of ${asset}`);

// What a check adds to its steps if it finds it lost, or not to be had at first.
const LOST = { destroyed: "is destroyed", dust: "is too little to be kept", trapped: "nobody receives" };
const KEPT = { ...LOST, locked: "can't be spent at first" };
// The steps that somebody pays for.
const FEES = new Set(["transaction fee", "delivery", "execution"]);

const lostIn = ({ steps }) => steps.filter(({ what }) => what in LOST);

// Whose money leaves, beside fees: by the role of the account, in the words above an amount, and in a sentence.
const SENDERS = {
  "the sender": ["You send", "your account"],
  "the multisig": ["Once all approve, the multisig sends", "the multisig's account once all approve"],
};

function sentIn({ steps, leaves }) {
  const listed = steps.filter(({ what }) => what === "leaves").map((step) => ({ ...step, role: "the sender" }));
  return listed.length ? listed : leaves.filter(({ role }) => role in SENDERS);
}

// The roles of SENDERS whose money leaves, each with what does.
function sendersIn(check) {
  const sent = sentIn(check);
  return Object.keys(SENDERS).map((role) => [role, sent.filter((each) => each.role === role)]).filter(([, gone]) => gone.length);
}

// Returns the sums of amounts, of each asset its own, as texts: "1.5 DOT", "100 USDT".  Decimals are added as integers.
export function sumsOf(amounts) {
  const sums = new Map();
  for (const { human, value, asset, chain } of amounts) {
    const number = human ? human.slice(0, human.indexOf(" ")) : value;
    // An asset without a symbol is called by its id, which means another one on each chain.
    const unit = `${human ? "" : "of the smallest unit of "}${asset}${/^asset /.test(asset) ? ` on ${chainName(chain)}` : ""}`;
    const [whole, part = ""] = number.split(".");
    const before = sums.get(unit) ?? { raw: 0n, places: 0 };
    const places = Math.max(before.places, part.length);
    sums.set(unit, { places, raw: before.raw * 10n ** BigInt(places - before.places) + BigInt(whole + part.padEnd(places, "0")) });
  }
  return [...sums].map(([unit, { raw, places }]) => {
    const digits = String(raw).padStart(places + 1, "0");
    const [whole, part] = [digits.slice(0, digits.length - places), digits.slice(digits.length - places).replace(/0+$/, "")];
    return `${grouped(part ? `${whole}.${part}` : whole)} ${unit}`;
  });
}

const joined = (texts) => texts.length > 1 ? `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}` : texts[0];

// The button to sign in spite of a check that didn't pass, or of none: it names what would be lost.
export function insistence(check) {
  if (!check) return "Sign without a simulation";
  const [lost, sent] = [sumsOf(lostIn(check)), sumsOf(sentIn(check))];
  const fee = sumsOf(check.steps.filter(({ what }) => what === "transaction fee"));
  if (check.verdict === "ok") return `Sign although ${joined(lost)} would be lost`;
  if (check.verdict !== "refused") return sent.length ? `Sign although it is unknown what becomes of ${joined(sent)}` : "Sign although the outcome is unknown";
  // A call that fails on its own chain moves nothing, but pays its fee.
  if (check.stops.some(({ tried, outcome }) => tried === "call" && outcome === "failed")) return fee.length ? `Sign although it fails and ${joined(fee)} would be lost` : "Sign although it fails";
  if (sent.length) return `Sign although ${joined(sent)} could be lost`;
  return lost.length ? `Sign although ${joined(lost)} would be lost` : "Sign although it will fail";
}

// What somebody risks who signs in spite of a check that didn't pass, or of none; each a sentence.
export function risksOf(transaction, check) {
  const { decoded } = transaction.toSign ?? transaction;
  if (!check) return [`Nobody knows what becomes of this, because it wasn't simulated. You risk its fee and what it moves: it ${decoded.says}.`];
  const words = ({ chain, ...step }, what) => [whole(step), ` on ${chainName(chain)}${what}`];
  const senders = sendersIn(check);
  const fee = check.steps.find(({ what }) => what === "transaction fee");
  return [
    ...senders.map(([role, gone]) => ["You risk ", gone.map((each, number) => [number > 0 && ", ", words(each, "")]), `, which leaves ${SENDERS[role][1]}.`]),
    senders.length === 0 && `You risk what it moves: it ${decoded.says}.`,
    ...check.steps.filter(({ what }) => what in KEPT).map((each) => ["You lose ", words(each, `, which ${KEPT[each.what]}.`)]),
    fee ? ["You lose the fee of ", whole(fee), " even if it fails in its block."] : "You lose its fee even if it fails in its block.",
    check.reasons[0] && `The simulation says: ${check.reasons[0]}`,
  ].filter(Boolean);
}

// What the signer sends, who receives what, all fees, and what could go wrong; each hop is folded.
function result(check, transaction) {
  return [
    h("dl", { class: "summary" }, [
      ...sendingOf(check, transaction),
      ...receivingOf(check),
      ["Total fees", feesOf(check)],
      ["What could go wrong", troublesOf(check)],
    ].map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    check.steps.length > 0 && h("details", {}, h("summary", {}, "Each hop"), h("table", {},
      h("caption", { class: "offscreen" }, "Amounts that leave, fees of each hop, amounts that arrive"),
      h("thead", {}, h("tr", {}, ["Chain", "Step", "Amount"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, check.steps.map((step) => h("tr", {}, h("td", {}, chainName(step.chain)), h("td", {}, step.what), h("td", {}, step.at_most && "at most ", whole(step))))))),
  ];
}

function sendingOf(check, transaction) {
  const { decoded } = transaction.toSign ?? transaction;
  const sending = sendersIn(check).map(([role, sent]) => [SENDERS[role][0], sent.map((each) => h("p", {}, h("b", {}, whole(each)), ` on ${chainName(each.chain)}`))]);
  const deposits = sumsOf(check.steps.filter(({ what }) => what === "deposit"));
  return [
    // If no event tells of an amount, the call still does.
    ...(sending.length ? sending : [["What it does", h("p", { class: "says" }, decoded.says)]]),
    ...(deposits.length ? [["You set aside", h("p", {}, h("b", {}, joined(deposits)), " as a deposit")]] : []),
  ];
}

// Every account that is credited, so that a signer sees those that they did not mean to pay.
function receivingOf(check) {
  const credits = check.credits.filter(({ system }) => !system);
  const line = (each) => h("p", {}, h("b", {}, whole(each)), ` on ${chainName(each.chain)}`, h("br"), shown(each.account), each.role && each.role !== "the sender" && ` (${each.role})`);
  const [own, others] = [credits.filter(({ role }) => role === "the sender"), credits.filter(({ role }) => role !== "the sender")];
  const { computed } = check.arrival;
  const nobody = check.verdict === "ok" ? "Nobody is credited"
    : check.verdict === "refused" ? "Nothing is known to arrive"
      : computed ? ["About ", whole(computed), ", by arithmetic alone: no chain confirmed it"] : "Unknown";
  const receive = check.verdict === "ok" ? "receive" : "would receive";
  return [
    own.length > 0 && [`You ${receive}`, own.map(line)],
    (others.length > 0 || !own.length) && [`They ${receive}`, others.length ? others.map(line) : h("p", {}, nobody)],
  ].filter(Boolean);
}

function feesOf(check) {
  const paid = check.steps.filter(({ what }) => FEES.has(what));
  const isWhole = check.verdict === "ok" && paid.some(({ what }) => what === "transaction fee");
  if (!paid.length) return h("p", {}, "Unknown");
  const sums = joined(sumsOf(paid));
  return isWhole ? h("p", {}, paid.some(({ at_most: bound }) => bound) && "At most ", h("b", {}, sums)) : h("p", {}, "At least ", h("b", {}, sums), ". The rest is unknown.");
}

function troublesOf(check) {
  const found = [...check.reasons, ...check.warnings];
  if (!found.length && lostIn(check).length) found.push(`${joined(sumsOf(lostIn(check)))} would be lost.`);
  if (found.length) return h("ul", {}, found.map((each) => h("li", {}, each)));
  return h("p", {}, check.verdict === "ok" ? "The simulation found nothing. Until it is in a block, the state of the chains can change." : "Unknown");
}
