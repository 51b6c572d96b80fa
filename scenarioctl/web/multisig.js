// What waits for the approval of a multisig's signatories, on each chain, and what an account of this browser can do with it.

import { accountStep } from "./accounts.js";
import { get } from "./api.js";
import { field, fill, form, h, mistake, problemOf, raw } from "./dom.js";
import { account as shown, amount, grouped, sentence } from "./format.js";
import { accountOf, chainName, chains, known, signatoriesOf } from "./known.js";
import { plain } from "./words.js";

export async function multisigView(name, signal) {
  const [entries] = await Promise.all([known(), chains()]);
  const entry = entries.find((each) => each.name === name);
  const layer = entry?.layers.findIndex(({ threshold }) => threshold > 1) ?? -1;
  if (layer < 0) throw new Error(`${name} is not in the address book as a multisig of which several must approve. Add it under Accounts.`);
  const members = signatoriesOf(entry);
  const barred = ({ key }) => (members.length && !members.includes(key) ? `is no signatory of ${name}` : "");
  const place = h("div", { "aria-live": "polite" });
  const who = h("div");
  let rows = [];
  let mine = null;

  async function load() {
    fill(who);
    fill(place, h("p", { class: "hint waits" }, "Asking the chains…"));
    try {
      const { operations, unread } = await get("/api/multisig/list", { as: name }, signal);
      rows = operations.map((row) => ({ row, actions: h("div"), call: "" }));
      fill(place, operations.length ? rows.map(operation) : h("p", {}, unread.length ? "Nothing waits on the chains that could be read." : `Nothing of ${name} waits for an approval.`),
        unread.length > 0 && h("details", { class: "notice" }, h("summary", {}, `Unknown: ${unread.map(({ chain }) => chainName(chain)).join(", ")}`),
          h("ul", {}, unread.map(({ chain, error }) => h("li", {}, h("b", {}, chainName(chain)), raw(error, ""))))),
        h("div", { class: "actions" }, h("button", { type: "button", class: "quiet", onclick: load }, "Refresh")));
      if (!operations.length) return;
      const chain = await get(`/api/chains/${encodeURIComponent(operations[0].chain)}`, {}, signal);
      fill(who, h("section", { class: "card", "aria-labelledby": "account" }, h("h2", { id: "account" }, "Your account"), accountStep(chain, choose, signal, barred)));
    } catch (error) {
      if (!signal.aborted) fill(place, problemOf(error, load));
    }
  }

  function choose(account) {
    mine = account;
    for (const each of rows) offer(each);
  }

  function operation(each) {
    const { row } = each;
    const card = h("article", { class: "card" });
    const draw = () => {
      offer(each);
      fill(card,
        h("h2", {}, chainName(row.chain)),
        row.call ? h("p", { class: "says" }, sentence(row.says)) : [h("p", { class: "notice" }, `Nobody knows what this does: ${plain(row.unknown)}. Ask who opened it for the call.`), paste(each, draw)],
        h("dl", { class: "facts" }, [
          [`Approved, ${row.approved.length} of ${row.threshold}`, row.approved.map((one) => h("p", {}, shown(one)))],
          ["Has not approved", row.missing.map((one) => h("p", {}, shown(one)))],
          ["Deposit", [amount(row.deposit.human ?? `${row.deposit.value} raw`, row.deposit.value), " of ", shown(row.depositor)]],
          ["Opened", `in block ${grouped(row.opened.height)}${row.age ? `, ${grouped(row.age)} ${row.age === 1 ? "block" : "blocks"} ago` : ""}`],
          ["Hash", h("code", {}, row.call_hash)],
        ].map(([title, value]) => h("div", { class: "wide" }, h("dt", {}, title), h("dd", {}, value)))),
        each.actions);
    };
    draw();
    return card;
  }

  // The daemon hashes a call that somebody pastes, and says what it does only if it is the one that is open.
  function paste(each, draw) {
    return form("Read the call", async ({ calls = "" }) => {
      const { operations } = await get("/api/multisig/list", { as: name, chains: each.row.chain, calls }, signal);
      const found = operations.find(({ call_hash: hash }) => hash === each.row.call_hash);
      if (!found) throw mistake("calls", "This operation isn't open any more. Refresh the page.");
      if (!found.call) throw mistake("calls", "This is another call than the one that is open.");
      each.call = calls;
      Object.assign(each.row, found);
      draw();
    }, field("calls", "Call", { multiline: true, required: true, hint: "Its call data, as 0x hex." }));
  }

  // What the account can do now; the chain decides in the end.
  function offer({ row, call, actions }) {
    if (!mine) {
      fill(actions, h("p", { class: "hint" }, "Choose your account to approve, run or cancel it."));
      return;
    }
    // Who acts in between is the signatory; the account of another multisig isn't known here.
    const outer = entry.layers[layer + 1];
    const signatory = outer ? outer.proxy_of : mine.key;
    const [approved, opener] = [row.approved.map(accountOf), accountOf(row.depositor)];
    const has = approved.includes(signatory);
    const left = row.threshold - approved.length - (has ? 0 : 1);
    const link = (act, label, kind) => h("a", { class: `button ${kind}`, "aria-label": `${label}: ${row.says || row.call_hash}`, href: `#/sign/?${new URLSearchParams({ multisig: name, act, chain: row.chain, hash: row.call_hash, ...(call && { call }) })}` }, label);
    const can = [
      row.call && left <= 0 && link("execute", "Run", "primary"),
      row.call && left > 0 && !has && link("approve", "Approve", "primary"),
      (opener === signatory || !signatory) && link("cancel", "Cancel", "danger"),
    ].filter(Boolean);
    fill(actions, has && left > 0 && h("p", { class: "hint" }, `You have approved it. ${left} more must.`), can.length > 0 && h("div", { class: "actions" }, can));
  }

  load();
  return h("section", {},
    h("div", { class: "title" }, h("h1", { tabindex: "-1" }, `Waiting approvals of ${name}`), h("p", { class: "hint acting" }, shown(entry.address), ` ${entry.acting}`)),
    who, place);
}
