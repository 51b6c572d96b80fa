// What a check of a transaction says: what leaves, what arrives, the fees, what would be lost, and what somebody risks.

import { h, raw } from "./dom.js";
import { account as shown, exactly, grouped, sentence } from "./format.js";
import { chainName } from "./known.js";
import { capital, plain } from "./words.js";

export const whole = ({ human, value, asset }) => (human ? exactly(human, value) : `${grouped(value)} of the smallest unit of ${asset}`);

// What a check adds to its steps if it finds it lost, or not to be had at first.
const LOST = { destroyed: "is destroyed", dust: "is too little to be kept", trapped: "nobody receives" };
const KEPT = { ...LOST, locked: "can't be spent at first" };
// The steps that somebody pays for.
const FEES = new Set(["transaction fee", "delivery", "execution"]);

export const lostIn = ({ steps }) => steps.filter(({ what }) => what in LOST);

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

export const joined = (texts) => texts.length > 1 ? `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}` : texts[0];

// The button to sign in spite of a check that didn't pass, or of none: it names what would be lost.
export function insistence(check, { conditional }) {
  if (!check) return "Sign without a simulation";
  const [lost, sent] = [sumsOf(lostIn(check)), sumsOf(sentIn(check))];
  const fee = sumsOf(check.steps.filter(({ what }) => what === "transaction fee"));
  if (check.verdict === "ok") return lost.length || !conditional ? `Sign although ${joined(lost)} would be lost` : "Sign although its condition wasn't checked";
  if (check.verdict !== "refused") return sent.length ? `Sign although it is unknown what becomes of ${joined(sent)}` : "Sign although the outcome is unknown";
  // A call that fails on its own chain moves nothing, but pays its fee.
  if (check.stops.some(({ tried, outcome }) => tried === "call" && outcome === "failed")) return fee.length ? `Sign although it fails and ${joined(fee)} would be lost` : "Sign although it fails";
  if (sent.length) return `Sign although ${joined(sent)} could be lost`;
  return lost.length ? `Sign although ${joined(lost)} would be lost` : "Sign although it will fail";
}

// A reason of the daemon in the words of the page; its own are under Details if they are others.
function told(reason) {
  const said = plain(reason) || "A chain did not answer what the simulation asked.";
  return [said, raw(reason, said)];
}

// What somebody risks who signs in spite of a check that didn't pass, or of none; each a sentence.
export function risksOf(transaction, check) {
  const { decoded } = transaction.toSign ?? transaction;
  if (check?.verdict === "ok" && !lostIn(check).length) return ["This step comes after a condition, which only a run checks. Start the job, or run it once, and sign what it drafts."];
  if (!check) return [`Nobody knows what becomes of this, because it wasn't simulated. You risk its fee and what it moves: it ${decoded.says}.`];
  const words = (step, what) => [whole(step), ` on ${chainName(step.chain)}${what}`];
  const senders = sendersIn(check);
  const fee = check.steps.find(({ what }) => what === "transaction fee");
  return [
    ...senders.map(([role, gone]) => ["You risk ", gone.map((each, number) => [number > 0 && ", ", words(each, "")]), `, which leaves ${SENDERS[role][1]}.`]),
    senders.length === 0 && `You risk what it moves: it ${decoded.says}.`,
    ...check.steps.filter(({ what }) => what in KEPT).map((each) => ["You lose ", words(each, `, which ${KEPT[each.what]}.`)]),
    fee ? ["You lose the fee of ", whole(fee), " even if it fails in its block."] : "You lose its fee even if it fails in its block.",
    check.reasons[0] && ["The simulation says: ", told(check.reasons[0])],
  ].filter(Boolean);
}

// What a check says in short: what leaves, what arrives, and the fees; each a text, null if it isn't known.
export function briefOf(check) {
  const credits = check.credits.filter(({ system, role }) => !system && role !== "the sender");
  const fees = check.steps.filter(({ what }) => FEES.has(what));
  const sent = sumsOf(sentIn(check));
  return { sends: sent.length ? joined(sent) : null, receives: credits.length ? joined(sumsOf(credits)) : null, receivers: [...new Set(credits.map(({ account }) => account))], fees: fees.length ? `${check.verdict === "ok" ? "" : "at least "}${joined(sumsOf(fees))}` : null };
}

// What the signer sends, who receives what, all fees, and what could go wrong; each hop is folded.
export function resultOf(check, transaction) {
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
      h("tbody", {}, check.steps.map((step) => h("tr", {}, h("td", {}, chainName(step.chain)), h("td", {}, capital(step.what)), h("td", {}, step.at_most && "at most ", whole(step))))))),
  ];
}

function sendingOf(check, transaction) {
  const { decoded } = transaction.toSign ?? transaction;
  const sending = sendersIn(check).map(([role, sent]) => [SENDERS[role][0], sent.map((each) => h("p", {}, h("b", {}, whole(each)), ` on ${chainName(each.chain)}`))]);
  const deposits = sumsOf(check.steps.filter(({ what }) => what === "deposit"));
  return [
    // If no event tells of an amount, the call still does.
    ...(sending.length ? sending : [["What it does", h("p", { class: "says" }, sentence(decoded.says))]]),
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
  if (found.length) return h("ul", {}, found.map((each) => h("li", {}, told(each))));
  return h("p", {}, check.verdict === "ok" ? "The simulation found nothing. Until it is in a block, the state of the chains can change." : "Unknown");
}
