// As which account of the address book a scenario's transactions are made, and which signatory signs them.

import { remembered } from "./accounts.js";
import { get } from "./api.js";
import { fill, h, selection } from "./dom.js";
import { accountOf, known, signatoriesOf } from "./known.js";

// `element` is empty unless the book has such accounts; `update()` shows what the state has.
export function actingFields(editor) {
  const element = h("div");
  let entries = [];

  function change(acting) {
    if (acting) editor.state.acting = acting;
    else delete editor.state.acting;
    editor.changed();
    for (const step of editor.state.steps) editor.noteAmounts(step);
    update();
  }

  function choose(name) {
    const entry = entries.find((each) => each.name === name);
    if (!entry) return change(null);
    const members = signatoriesOf(entry);
    const mine = members.length > 0 && remembered({ account_bytes: (members[0].length - 2) / 2 });
    const signer = members.find((each) => mine && each === accountOf(mine.address)) ?? members[0];
    return change({ name, layers: entry.layers, ...(signer && { signer }) });
  }

  function update() {
    const { acting } = editor.state;
    const now = acting?.name ?? acting ?? "";
    const offered = entries.filter(({ layers }) => layers.length).map(({ name, acting: words }) => [name, `${name}, ${words}`]);
    if (now && !offered.some(([name]) => name === now)) offered.push([now, `${now}, not in the address book`]);
    const focused = element.contains(document.activeElement) && document.activeElement.name;
    const choice = selection("acting", "Made as", [["", "The account that signs"], ...offered], now);
    choice.addEventListener("change", ({ target }) => choose(target.value));
    const members = acting?.layers ? signatoriesOf(acting) : [];
    const signer = members.length > 0 && selection("signer", "Signed by", members.map((each) => [each, nameOf(each)]), accountOf(acting.signer ?? ""));
    signer?.addEventListener?.("change", ({ target }) => change({ ...acting, signer: target.value }));
    fill(element, offered.length > 0 && [choice, signer]);
    if (focused) element.querySelector(`[name=${focused}]`)?.focus();
    // Without a name, it is shown as every wallet writes it.
    for (const option of element.querySelectorAll("[name=signer] option")) {
      if (option.textContent === option.value) get("/api/address", { address: option.value }, editor.signal).then(({ addresses }) => { option.textContent = addresses[0].address; }, () => {});
    }
  }

  const nameOf = (account) => entries.find((each) => each.account === account)?.name ?? account;
  known().then((found) => {
    entries = found;
    if (editor.signal.aborted) return;
    // A flow file may name it alone.
    const named = entries.some(({ name }) => name === editor.state.acting);
    if (named) choose(editor.state.acting);
    else update();
  }, () => {});
  return { element, update };
}
