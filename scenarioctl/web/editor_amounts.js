// What stands below an amount: the balance of the account that this browser remembers, and the live quote of a swap.

import { rawAmount } from "./amounts.js";
import { post } from "./api.js";
import { grouped } from "./format.js";
import { readKept } from "./storage.js";

// Pause in typing after which a quote is asked for, in milliseconds.
const PAUSE = 500;
const KEY = "scenarioctl.account";

// The account that signed last in this browser (`accounts.js`); empty if none.
const rememberedAddress = (bytes) => readKept("localStorage", `${KEY}.${bytes}`)?.address ?? "";

// Whether what somebody typed is a number of tokens above `most`.
function isMore(typed, { decimals }, most) {
  try {
    return BigInt(rawAmount(typed, decimals)) > BigInt(most.value);
  } catch {
    // It is no plain number, which the daemon judges.
    return false;
  }
}

// Keeps the notes of all cards; `look` is called whenever a step may need another one.
export function amountNotes(editor) {
  const timers = new Map();
  const latest = new Map();

  async function balance(chain, asset, typed) {
    const address = rememberedAddress(32);
    if (!address || !asset) return "";
    const { balances } = await editor.once("/api/balances", { address, chains: chain, zero: "true" }, { balances: [] });
    const row = balances.find((each) => each.asset === asset.id);
    const most = row?.transferable;
    if (!most?.human) return "";
    return isMore(typed, asset, most) ? `${grouped(typed)} is more than you can send: ${grouped(most.human)}.` : `You can send ${grouped(most.human)}.`;
  }

  async function quote({ values }, signal) {
    const { assetin = "", assetout = "", amount = "", slippage = "", route = "", chain = "" } = values;
    const typed = [assetin, assetout, amount];
    if (typed.some((each) => !String(each).trim() || String(each).includes("{{")) || String(route).includes("{{")) return "";
    try {
      const fields = { assetin, assetout, amount, ...(slippage && { slippage }), ...(route && { route }), ...(chain && { chain }) };
      const { received, at_least: least, impact_percent: impact } = await post("/api/swap/quote", fields, signal);
      return `Now worth ${grouped(received)}, at least ${grouped(least)}${impact ? `; price impact ${impact} %` : ""}.`;
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
    const words = await Promise.all([
      balance(chain, asset.asset(), String(step.values.amount ?? "")),
      control.spec.quote ? quote(step, AbortSignal.any([editor.signal, asking.signal])) : "",
    ]);
    if (!asking.signal.aborted) control.note(words.filter((each) => each).join(" "));
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
