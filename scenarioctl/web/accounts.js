// The first step: which account signs. It comes from a wallet of the browser, or is pasted. The browser remembers it.

import { get } from "./api.js";
import { field, fill, form, h, mistake, problemOf } from "./dom.js";
import { account as shown, amount } from "./format.js";
import { keepIn, readKept } from "./storage.js";
import { connect, installed, titleOf, unfit } from "./wallets.js";

const KEY = "scenarioctl.account";
// Accounts of a wallet whose balances are read; each is a question to the chain.
const BALANCES = 20;

// One for each length of accounts: a browser may hold both kinds.
const place = (chain) => `${KEY}.${chain.account_bytes}`;

export function remembered(chain) {
  const { wallet, address, name, type, genesis } = readKept("localStorage", place(chain)) ?? {};
  if (![wallet, address, name, type, genesis].every((each) => typeof each === "string") || !address) return null;
  const known = { wallet, address, name, type, genesis };
  return wallet && unfit(known, chain) ? null : known;
}

// The address that signed last on a chain with accounts of 32 bytes, "" if none did.
export const rememberedAddress = () => readKept("localStorage", `${KEY}.32`)?.address ?? "";

function remember(account, chain) {
  const { wallet, address, name, type, genesis } = account;
  keepIn("localStorage", place(chain), { wallet, address, name, type, genesis });
}

// Returns `account` with its bytes (`key`) and its address on `chain`; throws if nobody can sign with it there.
async function spelled(account, chain, signal) {
  const details = await get("/api/address", { address: account.address }, signal);
  const bytes = (details.account.length - 2) / 2;
  if (bytes !== chain.account_bytes) throw mistake("address", `${account.address} has ${bytes} bytes; an account on ${chain.title} has ${chain.account_bytes}. Use an account of that chain.`);
  if (details.keyless) throw mistake("address", `Nobody can sign for ${account.address}: ${details.description}. Use another account.`);
  const here = details.addresses.find(({ chains }) => chains.includes(chain.name)) ?? details.addresses[0];
  return { ...account, key: details.account, typed: account.address, address: account.address, here: here.address };
}

// What an account can send of the native asset, `{value, human}`; undefined if the chain doesn't tell.
export async function transferable(account, chain, signal) {
  const { balances } = await get("/api/balances", { address: account.here, chains: chain.name }, signal);
  const native = balances.find(({ name }) => name === chain.symbol) ?? balances[0];
  return native?.transferable?.human ? native.transferable : undefined;
}

async function balanceOf(account, chain, signal) {
  const found = await transferable(account, chain, signal);
  return found ? h("span", { class: "balance" }, amount(found.human, found.value), " transferable.") : "";
}

const line = (account, still = false) => shown(account.here, { typed: account.typed, name: account.name, still });

// `chosen(account, person)` hears of the choice, and of null; `person` says that somebody has just made it.  `barred(account)` says
// why one can't sign; "" if it can.
export function accountStep(chain, chosen, signal, barred = (_) => "") {
  const body = h("div");
  let choice = 0;
  // The wallet that is asked for its accounts; another one takes its place.
  let asking = new AbortController();

  async function choose(given, person) {
    const number = ++choice;
    const account = await spelled(given, chain, signal);
    if (barred(account)) throw mistake("address", `${account.here} ${barred(account)}.`);
    if (number !== choice) return;
    remember(given, chain);
    const balance = h("span");
    fill(body,
      h("div", { class: "split" }, line(account), h("button", { type: "button", class: "quiet", onclick: () => { chosen(null, true); ask(); focusOn(body); } }, "Change account")),
      h("p", { class: "hint" }, account.wallet ? `From ${titleOf(account.wallet)}.` : "A pasted address: sign with Polkadot Vault or another signer.", " ", balance));
    chosen(account, person);
    balanceOf(account, chain, signal).then((told) => fill(balance, told), () => fill(balance));
  }

  function ask() {
    const trouble = h("div");
    const wallets = h("div", { class: "wallets" });
    const accounts = h("div", { "aria-live": "polite" });
    const look = () => fill(wallets, offered(installed(), accounts, trouble));
    look();
    // An extension may offer itself a moment after the page.
    const later = setTimeout(() => { if (!accounts.childElementCount) look(); }, 700);
    signal.addEventListener("abort", () => clearTimeout(later));
    fill(body, wallets, trouble, accounts,
      form("Use this account", ({ sender }) => {
        if (!sender) throw mistake("sender", "The address is missing: paste one, SS58 or a 0x public key.");
        return choose({ wallet: "", address: sender, name: "", type: "", genesis: "" }, true);
      }, field("sender", installed().length ? "Or paste an address" : "Address", { hint: "SS58 or 0x public key. For Polkadot Vault, a Ledger in another program, or an offline signer.", required: true, "data-names": "address" })));
  }

  function offered(ids, accounts, trouble) {
    const again = h("button", { type: "button", class: "quiet", onclick: ask }, "Look again");
    if (!ids.length) {
      return [h("p", { class: "hint" }, "No wallet found in this browser. Wallets like Talisman, SubWallet, polkadot.js or Nova let you sign here. If you have just installed one, reload the page."), h("div", { class: "actions" }, again)];
    }
    return h("div", { class: "actions" }, ids.map((id, at) => {
      const button = h("button", { type: "button", class: at ? null : "primary", onclick: () => open(id, button, accounts, trouble) }, `Connect ${titleOf(id)}`);
      return button;
    }));
  }

  async function open(id, button, accounts, trouble) {
    asking.abort();
    const waiting = new AbortController();
    asking = waiting;
    const stop = () => waiting.abort();
    signal.addEventListener("abort", stop);
    fill(trouble);
    fill(accounts, h("p", {}, `Waiting for ${titleOf(id)}. Allow this page in its window. `, h("button", { type: "button", onclick: stop }, "Stop waiting")));
    button.disabled = true;
    try {
      const connected = await connect(id, waiting.signal);
      await list(connected.accounts, id, accounts, trouble, waiting.signal);
    } catch (error) {
      if (asking !== waiting) return;
      fill(accounts);
      if (error.name !== "AbortError") fill(trouble, problemOf(error));
    } finally {
      button.disabled = false;
      signal.removeEventListener("abort", stop);
    }
  }

  async function list(all, id, accounts, trouble, stopped) {
    const fit = all.filter((each) => !unfit(each, chain));
    const others = all.filter((each) => unfit(each, chain));
    const rows = [];
    for (const each of fit) {
      try {
        const account = await spelled(each, chain, stopped);
        const why = barred(account);
        if (why) others.push({ ...each, why });
        else rows.push(account);
      } catch (error) {
        if (stopped.aborted || error.code === "gone") throw error;
        fill(trouble, problemOf(error));
      }
    }
    const items = rows.map((account) => {
      const balance = h("span", { class: "hint" });
      const button = h("button", { type: "button", class: "choice", onclick: () => choose(account, true).catch((error) => fill(trouble, problemOf(error))) }, line(account, true), balance);
      return { account, balance, item: h("li", {}, button) };
    });
    fill(accounts,
      items.length
        ? h("ul", { class: "choices", "aria-label": `Accounts of ${titleOf(id)}` }, items.map(({ item }) => item))
        : h("p", { class: "notice" }, all.length ? `${titleOf(id)} shows no account that can sign on ${chain.title}.` : `${titleOf(id)} shows this page no accounts. Allow some in the wallet, then connect again.`),
      others.length > 0 && h("details", { open: !items.length }, h("summary", {}, others.length === 1 ? "1 account can't sign here" : `${others.length} accounts can't sign here`),
        h("ul", {}, others.map((each) => h("li", {}, each.name && [h("b", {}, each.name), " "], h("code", {}, each.address), " ", each.why ?? unfit(each, chain))))));
    accounts.querySelector("button")?.focus();
    for (const { account, balance } of items.slice(0, BALANCES)) {
      if (stopped.aborted || !accounts.isConnected) return;
      try {
        fill(balance, await balanceOf(account, chain, signal));
      } catch {
        // An account without a known balance can be chosen all the same.
        return;
      }
    }
  }

  const known = remembered(chain);
  function begin() {
    fill(body, h("p", {}, "Looking at the account…"));
    choose(known, false).catch((error) => {
      if (signal.aborted) return;
      if (error.code === "gone") fill(body, problemOf(error, begin));
      else ask();
    });
  }
  if (known) begin();
  else ask();
  return body;
}

function focusOn(body) {
  body.querySelector("button, input")?.focus();
}
