// What stands below an amount: the balance of the account that this browser remembers, and the live quote of a swap.

import { rememberedAddress } from "./accounts.js";
import { rawAmount } from "./amounts.js";
import { post } from "./api.js";
import { fill, h } from "./dom.js";
import { briefOf } from "./figures.js";
import { grouped } from "./format.js";
import { known } from "./known.js";
import { sentenceOf } from "./words.js";

// Pause in typing after which a quote is asked for, in milliseconds.
const PAUSE = 500;
// The values of a transfer, and who would sign it: whom the scenario acts for, its sender, the account that signed last in this
// browser, or the only one that is watched.
async function partsOf(step, editor) {
  const { acting } = editor.state;
  const values = { ...step.values, source_chain: editor.chainOf(step, "source_chain"), dest_chain: editor.chainOf(step, "dest_chain") };
  const watched = (await known()).filter((each) => each.watched);
  return { values, sender: acting?.signer || values.sender || rememberedAddress() || (watched.length === 1 ? watched[0].address : "") };
}

// What a transfer of `max` would send.
export async function maximumOf(step, editor) {
  const { acting } = editor.state;
  const { values, sender } = await partsOf(step, editor);
  if (!sender) throw new Error("All that can be sent depends on the account that signs. Fill in the sender under More options.");
  if (!values.destination_address) throw new Error("What the fees leave depends on the receiver. Fill it in first.");
  const keys = ["source_chain", "dest_chain", "assetid", "destination_address", "remote_fee_asset", "allow_death", "accept_loss", "xcm_version", "yes"];
  const fields = Object.fromEntries(keys.filter((key) => ![undefined, "", null].includes(values[key])).map((key) => [key, values[key]]));
  const { maximum } = await post("/api/tx/transfer", { ...fields, amount: "max", sender, ...(acting && { as: acting.name ?? acting }) }, editor.signal);
  return maximum;
}

// Whether what somebody typed is a number of tokens above `most`.
function isMore(typed, { decimals }, most) {
  try {
    return BigInt(rawAmount(typed, decimals)) > BigInt(most.value);
  } catch {
    // It is no plain number, which the daemon judges.
    return false;
  }
}

// What a quote of a swap needs, and what it takes too.
const NEEDED = ["assetin", "assetout", "amount"];
const TAKEN = [...NEEDED, "slippage", "route", "chain"];

const quoteWords = ({ received, at_least: least, impact_percent: impact }) => `Now worth ${grouped(received)}, at least ${grouped(least)}${impact ? `; price impact ${impact} %` : ""}.`;

// Simulates a transfer as it is typed: what leaves, what arrives, and what it costs.  An empty answer: something is missing.
async function tryTransfer(step, editor, signal) {
  const { acting } = editor.state;
  const { values, sender } = await partsOf(step, editor);
  const given = ["source_chain", "dest_chain", "assetid", "amount", "destination_address"].map((key) => String(values[key] ?? "").trim());
  if (given.some((each) => !each || each.includes("{{"))) return {};
  if (!sender) return { hint: "Choose the account that signs under Accounts or More options, and this is simulated for it." };
  const [sourchain, destchain, assetid, amount, destinationaddress] = given;
  const check = await post("/api/tx/check", { sourchain, destchain, assetid, amount, unit: "tokens", destinationaddress, sender, ...(acting && { as: acting.name ?? acting }) }, signal);
  const { chains } = await editor.once("/api/status", {}, { chains: [] });
  const times = [...new Set([sourchain, destchain])].map((chain) => chains.find(({ name }) => name === chain)?.block_seconds);
  return { ...briefOf(check), verdict: check.verdict, time: times.every(Boolean) ? `About ${Math.round(times.reduce((sum, each) => sum + each, 0))} s` : null };
}

// What stands beside the form of a single transfer or swap, and changes while somebody types.
function livePart() {
  const rows = h("dl", { class: "told" });
  const words = h("p", { class: "hint" });
  const element = h("aside", { class: "card live", "aria-label": "What it does", "aria-live": "polite" }, rows, words);
  /** @param {any} step @param {any} told */
  const draw = (step, told) => {
    const { sends, receives, fees, time, verdict, hint = "" } = told;
    const { amount, assetid, assetin } = step.values;
    const typed = [amount, assetid ?? assetin].every((each) => String(each ?? "").trim()) ? `${amount} ${assetid ?? assetin}` : null;
    fill(rows, [["You send", sends ?? typed], ["They receive", receives], ["Fees", fees], ["Time", time]].map(([name, value]) => h("div", {}, h("dt", {}, step.type === "swap" ? name.replace("They", "You") : name), h("dd", {}, value ? grouped(value) : "–"))));
    fill(words, verdict === "refused" ? "It would fail as it is: the steps to sign it say why." : verdict === "unknown" ? "Some of it couldn't be simulated." : hint);
  };
  return { element, draw };
}

// Keeps the notes of all cards; `look` is called whenever a step may need another one.
export function amountNotes(editor) {
  const timers = new Map();
  const latest = new Map();

  async function balance(step, chain, asset, typed) {
    const name = editor.state.acting?.name ?? editor.state.acting;
    const address = name ?? (await partsOf(step, editor)).sender;
    if (!address || !asset) return "";
    const { balances } = await editor.once("/api/balances", { address, chains: chain, zero: "true" }, { balances: [] });
    const row = balances.find((each) => each.asset === asset.id);
    const most = row?.transferable;
    if (!most?.human) return "";
    return isMore(typed, asset, most) ? `${grouped(typed)} is more than ${name ?? "you"} can send: ${grouped(most.human)}.` : `${name ?? "You"} can send ${grouped(most.human)}.`;
  }

  async function quote({ values }, signal) {
    const given = (key) => String(values[key] ?? "").trim();
    if (!NEEDED.every(given) || TAKEN.some((key) => given(key).includes("{{"))) return "";
    const fields = Object.fromEntries(TAKEN.filter(given).map((key) => [key, values[key]]));
    try {
      const found = await post("/api/swap/quote", fields, signal);
      if (!editor.isList()) live.draw({ type: "swap", values }, { receives: `about ${found.received}`, hint: `At least ${grouped(found.at_least)}.` });
      return quoteWords(found);
    } catch (error) {
      // The fields say themselves what is wrong with them.
      return signal.aborted || error.code === "invalid_request" || error.code === "gone" ? "" : `No quote: ${sentenceOf(error)}`;
    }
  }

  const live = livePart();

  async function tell(step, signal) {
    live.draw(step, {});
    if (step.type !== "xTransfer") return;
    try {
      const found = await tryTransfer(step, editor, signal);
      if (!signal.aborted) live.draw(step, found);
    } catch (error) {
      // The fields say themselves what is wrong with them.
      if (!signal.aborted) live.draw(step, { hint: error.code === "invalid_request" ? "" : sentenceOf(error) });
    }
  }

  async function write(step, card, control) {
    const asking = new AbortController();
    latest.get(step.uid)?.abort();
    latest.set(step.uid, asking);
    const asset = card.controls.find(({ key }) => key === "assetid" || key === "assetin");
    const chain = editor.chainOf(step, asset.spec.of);
    const words = [];
    const shows = (place) => (found) => {
      words[place] = found;
      if (!asking.signal.aborted) control.note(words.filter((each) => each).join(" "));
    };
    // What was quoted before is of another amount.
    if (control.spec.quote) shows(1)("Getting a quote…");
    await Promise.all([
      editor.isList() ? null : tell(step, AbortSignal.any([editor.signal, asking.signal])),
      balance(step, chain, asset.asset(), String(step.values.amount ?? "")).then(shows(0)),
      control.spec.quote && quote(step, AbortSignal.any([editor.signal, asking.signal])).then(shows(1)),
    ]);
  }

  return {
    live: live.element,
    look(step, card) {
      const control = card?.controls?.find(({ spec }) => spec.balance);
      if (!control || !card.isOpen()) return;
      clearTimeout(timers.get(step.uid));
      timers.set(step.uid, setTimeout(() => write(step, card, control).catch(() => {}), PAUSE));
    },
  };
}
