// The accounts: what those hold that one watches, on all chains, and the address book.

import { get, onGone, post } from "./api.js";
import { confirmed } from "./dialog.js";
import { field, fill, form, h, problemOf, raw, say, selection } from "./dom.js";
import { account as shown, amount } from "./format.js";
import { chainMark, tokenMark } from "./icons.js";
import { approvalsOf, chainName, chains, forget, known } from "./known.js";
import { connect, installed, titleOf } from "./wallets.js";
import { plain, sentenceOf } from "./words.js";

// As many accounts are asked about at once: each is a question to every chain.
const AT_ONCE = 2;
const KINDS = [["", "An account"], ["multisig", "A multisig"], ["proxied", "An account that proxies act for"]];
const TYPES = ["Any", "NonTransfer", "Governance", "Staking", "Assets"];

export async function accountsView(signal) {
  const watched = h("div");
  const book = h("div");
  const trouble = h("div");
  await chains();
  let reading = new AbortController();
  signal.addEventListener("abort", () => reading.abort());

  async function load() {
    forget();
    const entries = await known();
    if (signal.aborted) return;
    reading.abort();
    reading = new AbortController();
    add.named(entries);
    const own = entries.filter((each) => each.watched);
    const places = own.map((entry) => ({ entry, place: h("div", { "aria-live": "polite" }, h("p", { class: "hint waits" }, "Waiting for the chains before…")) }));
    fill(watched,
      own.length === 0 && h("p", {}, "You watch no account yet. Add those of your wallet, or type an address below. No key is asked for."),
      places.map(({ entry, place }) => h("article", { class: "card holder", "aria-label": entry.name },
        h("div", { class: "split" }, shown(entry.address, { name: entry.name }),
          h("button", { type: "button", class: "quiet", onclick: () => change(() => post("/api/address/add", { name: entry.name, address: entry.address, watch: false }, signal), `${entry.name} is not watched any more`) }, "Stop watching")),
        place)));
    fill(book, entries.length ? bookTable(entries) : h("p", {}, "No names yet. A name that you add here can be chosen as a receiver."));
    const { signal: now } = reading;
    const rest = [...places];
    const next = async () => {
      for (let one = rest.shift(); one && !now.aborted; one = rest.shift()) await read(one, now);
    };
    for (let worker = 0; worker < AT_ONCE; worker += 1) next();
  }

  async function change(ask, words) {
    fill(trouble);
    try {
      await ask();
      say(words);
    } catch (error) {
      if (!signal.aborted) fill(trouble, problemOf(error));
    }
    if (signal.aborted) return;
    await load().catch((error) => fill(trouble, problemOf(error)));
    // The button that was pressed is gone.
    if (document.activeElement === document.body) document.querySelector("main h1")?.focus();
  }

  async function remove({ name, layers }) {
    const lost = layers.length ? "Who acts for it is forgotten too: to add it again, you need its signatories or proxies." : "Its name is forgotten. What it holds stays where it is.";
    if (await confirmed(`Remove ${name}?`, lost, "Remove")) change(() => post("/api/address/remove", { name }, signal), `${name} removed`);
  }

  const bookTable = (entries) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Names and addresses" },
    h("table", { class: "list" },
      h("thead", {}, h("tr", {}, ["Account", ""].map((title) => h("th", { scope: "col" }, title || h("span", { class: "offscreen" }, "Actions"))))),
      h("tbody", {}, entries.map((entry) => h("tr", {},
        h("th", { scope: "row" }, shown(entry.address, { name: entry.name }), entry.acting && h("p", { class: "hint acting" }, sentence(entry.acting), entry.layers.some(({ threshold }) => threshold > 1) && [" ", h("a", { href: approvalsOf(entry.name) }, "Waiting approvals")])),
        h("td", {}, h("div", { class: "actions" },
          !entry.watched && h("button", { type: "button", class: "quiet", "aria-label": `Watch ${entry.name}`, onclick: () => change(() => post("/api/address/add", { name: entry.name, address: entry.address, watch: true }, signal), `${entry.name} is watched`) }, "Watch"),
          h("button", { type: "button", class: "danger quiet", "aria-label": `Remove ${entry.name}`, onclick: () => remove(entry) }, "Remove"))))))));

  // Adds every account of a wallet that isn't there yet, and says which could not be added.
  async function addFrom(id, button) {
    fill(trouble);
    button.disabled = true;
    try {
      const { accounts } = await connect(id, signal);
      const refused = [];
      for (const { name, address } of accounts) {
        await post("/api/address/add", { name: name || `${titleOf(id)} ${address.slice(-6)}`, address, watch: true }, signal).catch((error) => {
          if (error.code === "gone") throw error;
          refused.push(h("li", {}, sentenceOf(error)));
        });
      }
      if (!accounts.length) fill(trouble, h("p", { class: "notice" }, `${titleOf(id)} shows this page no accounts. Allow some in the wallet, then try again.`));
      if (refused.length) fill(trouble, h("div", { class: "notice", role: "status" }, h("p", {}, "Not added:"), h("ul", {}, refused)));
      await load();
    } catch (error) {
      if (!signal.aborted) fill(trouble, problemOf(error));
    } finally {
      button.disabled = false;
    }
  }

  const wallets = h("div", { class: "actions" });
  const look = () => fill(wallets, installed().map((id) => {
    const button = h("button", { type: "button", onclick: () => addFrom(id, button) }, `Add accounts of ${titleOf(id)}`);
    return button;
  }));
  look();
  // An extension may offer itself a moment after the page.
  const later = setTimeout(look, 700);
  signal.addEventListener("abort", () => clearTimeout(later));
  const add = addForm(async (name) => {
    say(`${name} added`);
    await load();
  }, signal);
  await load();
  return h("section", {},
    h("h1", { tabindex: "-1" }, "Accounts"), trouble,
    h("section", { "aria-labelledby": "watched" }, h("h2", { id: "watched" }, "Watched"), watched, wallets),
    h("section", { class: "card", "aria-labelledby": "book" }, h("h2", { id: "book" }, "Address book"), book),
    h("section", { class: "narrow", "aria-labelledby": "add" }, h("h2", { id: "add" }, "Add an address"), add.element));
}

const sentence = (words) => `${words[0].toUpperCase()}${words.slice(1)}.`;

// The form that adds an account, a multisig, or an account that proxies act for; `named(entries)` offers those of the book.
function addForm(added, signal) {
  const names = h("datalist", { id: "book-names" });
  const others = h("datalist", { id: "book-acting" });
  const member = () => field("signatories", "Signatory", { list: names.id, hint: "A name of the book, or an address." });
  const members = h("div");
  const more = h("button", { type: "button", class: "quiet", onclick: () => { members.append(member()); members.lastChild.querySelector("input").focus(); } }, "Another signatory");
  const through = () => field("through", "Through (optional)", { list: others.id, hint: "A multisig, or an account with proxies, that acts for them in turn." });
  const address = (name) => field(name, "Address", { required: true, "data-names": "address", hint: "SS58 of any network, or 0x hex." });
  const parts = {
    "": () => address("address"),
    multisig: () => [field("threshold", "Approvals needed", { inputmode: "numeric", required: true, hint: "How many signatories must approve what it does." }), members,
      h("div", { class: "actions" }, more), through()],
    proxied: () => [address("proxy_of"), field("type", "Type of the proxy (optional)", { options: TYPES.map((type) => [type, ""]), hint: "Default: any that lets the call through." }), through()],
  };
  const kind = selection("kind", "What it is", KINDS, "");
  const part = h("div");
  const show = () => {
    fill(members, member(), member());
    fill(part, parts[kind.querySelector("select").value]());
  };
  kind.addEventListener("change", show);
  show();
  const element = form("Add", async ({ kind: which, watch, threshold, signatories, ...given }) => {
    // Without any, the daemon says what is missing.
    const asked = which === "multisig" && { threshold: /^\d+$/.test(threshold) ? Number(threshold) : threshold ?? "", signatories: [...members.querySelectorAll("input")].map(({ value }) => value.trim()).filter(Boolean) };
    await post("/api/address/add", { name: "", ...asked, ...given, watch: watch === "on" }, signal);
    element.reset();
    show();
    await added(given.name);
  }, field("name", "Name", { required: true, maxlength: 60 }), kind, part,
  h("div", { class: "field" }, h("div", { class: "check" }, h("input", { type: "checkbox", id: "watch", name: "watch" }), h("label", { for: "watch" }, "My account: show its balances"))), names, others);
  const offered = (place, entries) => fill(place, entries.map(({ name }) => h("option", { value: name })));
  return { element, named: (entries) => { offered(names, entries); offered(others, entries.filter(({ layers }) => layers.length)); } };
}

// Reads what an account holds.  What no chain told is unknown, never nothing.
async function read(one, signal) {
  const { entry, place } = one;
  const again = () => read(one, signal);
  fill(place, h("p", { class: "hint waits" }, "Asking the chains…"));
  try {
    const { chains, balances } = await get("/api/balances", { address: entry.address }, signal);
    if (signal.aborted) return;
    const held = balances.filter(isHeld);
    const untold = (chain) => balances.filter((row) => row.chain === chain && !row.free);
    const unknown = chains.filter(({ chain, error }) => error || untold(chain).length);
    const empty = chains.filter((each) => !unknown.includes(each) && !held.some(({ chain }) => chain === each.chain));
    fill(place,
      held.length > 0 && h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Balances of ${entry.name}` }, h("table", { class: "list" },
        h("thead", {}, h("tr", {}, ["Chain", "Asset", "Transferable", "Locked"].map((each) => h("th", { scope: "col" }, each)))),
        h("tbody", {}, held.map((row) => h("tr", {},
          h("th", { scope: "row" }, chainMark(row.chain)),
          h("td", { "data-label": "Asset" }, tokenMark(row.name), " ", h("bdi", {}, row.name)),
          h("td", { "data-label": "Transferable" }, figure(row.transferable), row.reason && h("p", { class: "hint" }, row.reason)),
          h("td", { "data-label": "Locked" }, locked(row))))))),
      empty.length > 0 && h("p", { class: "hint" }, `Nothing on ${empty.map(({ chain }) => chainName(chain)).join(", ")}.`),
      unknown.length > 0 && [h("details", { class: "doubt" }, h("summary", {}, `Unknown: ${unknown.map(({ chain, error }) => (error ? chainName(chain) : `some assets on ${chainName(chain)}`)).join(", ")}`),
        h("ul", {}, unknown.map(({ chain, error }) => h("li", {}, h("b", {}, chainName(chain)), ": ", told(error || reasonsOf(untold(chain))))))),
        h("div", { class: "actions" }, h("button", { type: "button", class: "quiet", onclick: again }, "Ask again"))]);
  } catch (error) {
    if (signal.aborted) return;
    fill(place, problemOf({ ...error, message: `Balances are unknown: ${error.message}` }, again));
    if (error.code === "gone") {
      const waiting = new AbortController();
      onGone((gone) => { if (!gone) { waiting.abort(); again(); } }, AbortSignal.any([signal, waiting.signal]));
    }
  }
}

const isHeld = ({ free, reserved }) => free && (free.value !== "0" || (reserved && reserved.value !== "0"));

// "a, b: why" for each reason why a chain doesn't tell of an asset.
const reasonsOf = (rows) => [...new Set(rows.map(({ reason }) => reason))].map((why) => `${rows.filter(({ reason }) => reason === why).map(({ name }) => name).join(", ")}: ${why ?? "unknown"}`).join("; ");

const told = (reason) => [plain(reason) || "It can't be reached.", raw(reason, plain(reason))];

const figure = (balance) => (balance ? amount(balance.human ?? `${balance.value} raw`, balance.value) : "unknown");

// What is there and can't be sent now: reserved, frozen, or both at once, as a chain counts them.
function locked({ free, reserved, frozen, transferable, decimals }) {
  if (![free, reserved, transferable].every(Boolean)) return "unknown";
  const raw = BigInt(free.value) + BigInt(reserved.value) - BigInt(transferable.value);
  const digits = String(raw).padStart((decimals ?? 0) + 1, "0");
  const at = digits.length - (decimals ?? 0);
  const rest = digits.slice(at).replace(/0+$/, "");
  // With the symbol that the others have.
  const words = decimals === null ? `${raw} raw` : `${digits.slice(0, at)}${rest && `.${rest}`}${free.human.replace(/^\S+/, "")}`;
  const parts = [`Reserved ${reserved.human ?? reserved.value}`, frozen && `frozen ${frozen.human ?? frozen.value}`];
  return [amount(words, String(raw)), raw > 0n && h("p", { class: "hint" }, parts.filter(Boolean).join(", "))];
}
