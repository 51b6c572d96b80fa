// What stands below an amount: the balance of the account that this browser remembers, and the live quote of a swap.

import { rawAmount } from "./amounts.js";
import { post } from "./api.js";
import { grouped } from "./format.js";
import { known } from "./known.js";
import { readKept } from "./storage.js";

// Pause in typing after which a quote is asked for, in milliseconds.
const PAUSE = 500;
const KEY = "scenarioctl.account";

// The account that signed last in this browser (`accounts.js`); empty if none.
const rememberedAddress = (bytes) => readKept("localStorage", `${KEY}.${bytes}`)?.address ?? "";

// What a transfer of `max` would send: of the account as which the scenario is made, else of its sender, else of the one that
// signed last in this browser, else of the only one that is watched.
export async function maximumOf(step, editor) {
  const { acting } = editor.state;
  const values = { ...step.values, source_chain: editor.chainOf(step, "source_chain"), dest_chain: editor.chainOf(step, "dest_chain") };
  const watched = (await known()).filter((each) => each.watched);
  const sender = acting?.signer || values.sender || rememberedAddress(32) || (watched.length === 1 ? watched[0].address : "");
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

// Keeps the notes of all cards; `look` is called whenever a step may need another one.
export function amountNotes(editor) {
  const timers = new Map();
  const latest = new Map();

  async function balance(chain, asset, typed) {
    const name = editor.state.acting?.name ?? editor.state.acting;
    const address = name ?? rememberedAddress(32);
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
      return quoteWords(await post("/api/swap/quote", fields, signal));
    } catch (error) {
      // The fields say themselves what is wrong with them.
      return signal.aborted || error.code === "invalid_request" || error.code === "gone" ? "" : `No quote: ${error.message}`;
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
      balance(chain, asset.asset(), String(step.values.amount ?? "")).then(shows(0)),
      control.spec.quote && quote(step, AbortSignal.any([editor.signal, asking.signal])).then(shows(1)),
    ]);
  }

  return {
    look(step, card) {
      const control = card?.controls?.find(({ spec }) => spec.balance);
      if (!control || !card.isOpen()) return;
      clearTimeout(timers.get(step.uid));
      timers.set(step.uid, setTimeout(() => write(step, card, control).catch(() => {}), PAUSE));
    },
  };
}
